"""Budgets and the round's time through the loop: what stops, what goes on, what is not paid."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from selfimprove.agents.base import AgentFailure
from selfimprove.agents.scripted import ScriptedAgent
from selfimprove.contracts.agent import AgentRequest
from selfimprove.contracts.settings import Settings
from selfimprove.deps import Deadline
from selfimprove.steps import budget
from selfimprove.testing import failing
from selfimprove.testing.documents import a_plan
from selfimprove.testing.records import Recorder, set_up, to_execution
from selfimprove.testing.rehearsal import Rehearsal, number_plan
from selfimprove.testing.workspaces import make_workspace

Stage = Callable[..., Rehearsal]
ONE = {"number_of_agents": 1, "quality_threshold": 0.0}


def limits(**given: float) -> Settings:
    nested: dict[str, Any] = {}
    for name, value in given.items():
        scope, _, what = name.partition("_")
        nested.setdefault(scope, {})[what] = value
    return Settings.model_validate({"budget": nested})


@pytest.mark.parametrize(
    ("given", "about", "told"),
    [
        ({"run_usd": 0.02}, "planning", "the run has spent 0.02 usd, its budget is 0.02"),
        ({"run_usd": 0.03}, "planning", ""),
        ({"iteration_tokens": 10}, "planning", "the iteration has spent 10 tokens"),
        ({"iteration_calls": 2}, "planning", ""),
        ({"step_calls": 1}, "research", "the step research has spent 1 calls"),
        ({"step_calls": 1}, "planning", ""),
        ({"run_minutes": 30}, "planning", "the run has spent 60 minutes"),
        ({"iteration_minutes": 30}, "planning", ""),
        ({"iteration_minutes": 0}, "planning", "the iteration has spent"),
        ({"call_calls": 1}, "planning", ""),
    ],
)
def test_each_scope_counts_its_own(
    tmp_path: Path, given: dict[str, float], about: str, told: str
) -> None:
    record = Recorder(tmp_path)
    record.add(set_up())
    state = record.add(to_execution(1))
    clock = Deadline(began=datetime.now(UTC) - timedelta(hours=1))
    found = budget.used_up_for(state, limits(**given), clock, f"round_1/{about}/x", "planner")
    assert found.startswith(told) if told else found == ""


def test_minutes_leave_a_pause_out(tmp_path: Path) -> None:
    record = Recorder(tmp_path)
    record.add(set_up())
    state = record.add(to_execution(1))
    long_ago = "2026-01-01T00:00:00.000Z"
    assert state.round is not None
    paused = state.model_copy(
        update={"round": state.round.model_copy(update={"started_at": long_ago})}
    )
    assert budget.round_seconds(paused, Deadline()) < 3600


def test_an_iterations_budget_stops_it_where_it_is_and_it_goes_on_there(stage: Stage) -> None:
    play = stage(settings=ONE)
    outcome = play.run(**{"budget.iteration.calls": 2})
    assert (outcome.state.status, outcome.exit_code) == ("budget", 0)
    assert outcome.state.settings is not None
    assert outcome.state.settings.reason == "the iteration has spent 2 calls, its budget is 2"
    assert play.calls == ["round_1/researcher", "round_1/planner_a/plan_1"]
    again = play.run(**{"budget.iteration.calls": 2})
    assert (again.went_on, again.exit_code, len(play.calls)) == (False, 0, 2)
    assert play.said[-1].startswith("this run has ended: the iteration has spent 2 calls")
    raised = play.run(max_iterations=1)
    assert (raised.state.status, raised.state.wins_total) == ("max_iterations", 1)
    assert len(set(play.calls)) == len(play.calls)


def test_whoever_is_being_asked_may_finish(stage: Stage) -> None:
    planners = [[failing(), number_plan("b", 9)]]
    play = stage(planner=planners, settings={"quality_threshold": 0.0})
    outcome = play.run(**{"budget.step.calls": 1})
    assert (outcome.state.status, outcome.state.number) == ("budget", 1)
    assert outcome.state.settings is not None
    assert "the step planning has spent" in outcome.state.settings.reason
    # planner a failed and is not asked again; planner b was not asked: one call was left
    assert [call for call in play.calls if "planner" in call] == ["round_1/planner_a/plan_1"]
    play.run(max_iterations=1)
    assert [call for call in play.calls if "planner_b/plan" in call] == ["round_1/planner_b/plan_1"]


def test_an_executor_is_not_sent_back_beyond_the_budget(stage: Stage) -> None:
    guard = {"name": "small", "command": "read a < src/a; test $a -gt 5"}
    play = stage(planner=number_plan("a", 3), settings={**ONE, "guards": [guard]})
    outcome = play.run(**{"budget.step.calls": 1, "number_of_max_critics": 0})
    assert outcome.state.status == "budget"
    assert [call for call in play.calls if "executor" in call] == ["round_1/executor_1"]
    assert outcome.state.round is not None
    assert outcome.state.round.executors["executor_1"].result is None


def test_minutes_that_are_over_end_the_run_before_a_round(stage: Stage) -> None:
    play = stage(settings=ONE)
    clock = Deadline(began=datetime.now(UTC) - timedelta(hours=1))
    outcome = play.run(deadline=clock, **{"budget.run.minutes": 30})
    assert (outcome.state.status, outcome.state.number) == ("budget", 0)
    # the next start counts anew
    later = play.run(max_iterations=1, **{"budget.run.minutes": 30})
    assert (later.state.status, later.state.wins_total) == ("max_iterations", 1)


def test_a_round_whose_time_is_over_keeps_what_is_measured(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def seconds(state: Any, _clock: Any) -> float:
        first = state.round.executors.get("executor_1")
        return 99.0 if first and first.samples else 0.0

    monkeypatch.setattr(budget, "round_seconds", seconds)
    play = stage()
    outcome = play.run(max_iterations=1, round_timeout=60, benchmark_timeout=30)
    assert (outcome.state.status, outcome.state.wins_total) == ("max_iterations", 1)
    late = play.document("state/results/round_1/executor_2.json")
    assert (late["status"], late["benchmark_score"]) == ("timeout", None)
    assert "round_timeout" in late["failure_analysis"]["what"]


@pytest.mark.long
def test_a_round_whose_time_is_over_asks_nobody(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def seconds(state: Any, _clock: Any) -> float:
        return 99.0 if state.round.executors else 0.0

    monkeypatch.setattr(budget, "round_seconds", seconds)
    play = stage()
    play.run(max_iterations=1, round_timeout=60, benchmark_timeout=30)
    assert [call for call in play.calls if "executor" in call] == []
    late = play.document("state/results/round_1/executor_1.json")
    assert (late["status"], late["failure_analysis"]["category"]) == ("timeout", "timeout")
    assert late["failure_analysis"]["what"].startswith("the executor was not asked")
    assert play.document("state/merge_reports/round_1.json")["status"] == "no_winner"


def test_an_agent_is_held_to_what_is_left_of_the_round(tmp_path: Path) -> None:
    def slow(_request: Any, _tree: Path) -> dict[str, Any]:
        time.sleep(1.2)
        return a_plan("src/a", "x")

    fields = {"role": "planner", "round": 1, "agent_id": "planner_a", "session_id": "s"}
    request = AgentRequest.model_validate(
        {**fields, "prompt": "", "context": {}, "output_schema": {}}
    )
    agent = budget.Hurried(ScriptedAgent(slow), datetime.now(UTC) - timedelta(seconds=5))
    space = replace(make_workspace(tmp_path, {}), timeout=1800.0)
    with pytest.raises(AgentFailure) as failed:
        agent.ask(request, space)
    assert failed.value.kind == "timeout"
