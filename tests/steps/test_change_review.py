"""Critics of what executors changed: what goes back, how often, and what is settled unmeasured."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from selfimprove.app.options import ReplayOptions
from selfimprove.app.replay import replay
from selfimprove.store.rebuild import findings
from selfimprove.testing import failing
from selfimprove.testing.rehearsal import Rehearsal, number_plan, set_numbers

Stage = Callable[..., Rehearsal]
ON = {"critique_execution": True, "number_of_agents": 1, "quality_threshold": 0.0}
GREEN = {"name": "small", "command": "read a < src/a; test $a -ne 13"}


def events(play: Rehearsal, name: str) -> list[dict[str, Any]]:
    return [line["payload"] for line in play.lines(1) if line["payload"].get("event") == name]


def gates(play: Rehearsal) -> list[str]:
    return [gate["decision"] for gate in events(play, "gate") if "executor" in gate]


def result(play: Rehearsal, executor: str = "executor_1") -> dict[str, Any]:
    found: dict[str, Any] = play.document(f"state/results/round_1/{executor}.json")
    return found


def executors_calls(play: Rehearsal) -> list[str]:
    return [call for call in play.calls if "executor" in call]


def of_change(wanted: str, issue: str = "round it") -> Any:
    """A critic that likes every plan, and only changes after which src/a holds this."""

    def critic(request: Any, tree: Path) -> dict[str, Any]:
        if "change" not in request.context:
            return {"score": 1.0}
        right = (tree / "src/a").read_text().strip() == wanted
        return {"score": 1.0 if right else 0.4, "issues": [] if right else [issue]}

    return critic


def answering(request: Any, tree: Path) -> dict[str, Any]:
    """An executor that answers its critics by setting 20, and a guard by setting 21."""
    told = " ".join(request.context["feedback"])
    value = "20" if "a critic:" in told else "21" if "guard" in told else "13"
    (tree / "src/a").write_text(f"{value}\n")
    return {"summary": f"set to {value}"}


def test_a_change_below_the_threshold_goes_back_with_its_issues(stage: Stage) -> None:
    seen: list[Any] = []

    def critic(request: Any, tree: Path) -> dict[str, Any]:
        seen.append(request.context.get("change"))
        return of_change("20")(request, tree)

    play = stage(
        planner=number_plan("a", 20), executor=answering, critic=critic,
        settings={**ON, "guards": [GREEN]},
    )  # fmt: skip
    assert play.run(max_iterations=1).state.wins_total == 1
    assert executors_calls(play) == [
        "round_1/executor_1",
        "round_1/executor_1/fix_1",
        "round_1/executor_1/critic_1",
        "round_1/executor_1/revision_1",
        "round_1/executor_1/critic_1/revision_1",
    ]
    assert gates(play) == ["retry", "commit"]
    first, second = [change for change in seen if change]
    assert first["files"] == ["src/a"]
    assert "+21" in first["diff"]
    assert first["summary"] == "set to 21"
    assert "-30\n+20" in second["diff"]  # from the incumbent, not from the change before
    assert result(play)["status"] == "success"
    # what is merged is one commit on the incumbent
    assert play.repository.git("rev-list", "--count", "main..improve/lower_the_score") == "2"
    assert findings(play.layout) == []
    where = ReplayOptions(1, play.repository.path, "default", None, play.trees, True)
    assert replay(where) == 0


@pytest.mark.long
def test_a_change_that_stays_too_low_is_settled_unmeasured(stage: Stage) -> None:
    def restless(request: Any, tree: Path) -> dict[str, Any]:
        (tree / "src/a").write_text(f"{20 + request.context.get('revision', 0)}\n")
        return {"summary": "another try"}

    play = stage(
        planner=number_plan("a", 20), executor=restless, critic=of_change("1"), settings=ON
    )
    play.run(max_iterations=1)
    assert gates(play) == ["retry", "retry", "reject"]
    found = result(play)
    assert (found["status"], found["benchmark_score"]) == ("error", None)
    assert "its critics refuse the change" in found["failure_analysis"]["what"]
    assert "low_score: the critics give 0.40, 0.9 is wanted" in found["failure_analysis"]["what"]
    assert found["failure_analysis"]["why"] == "round it"
    assert not [line for line in play.lines(1) if line["payload"].get("tool") == "benchmark.run"]
    assert play.document("state/merge_reports/round_1.json")["status"] == "no_winner"
    where = ReplayOptions(1, play.repository.path, "default", None, play.trees, True)
    assert replay(where) == 0


def test_an_executor_that_changes_nothing_for_its_critics_is_not_criticised_again(
    stage: Stage,
) -> None:
    play = stage(
        planner=number_plan("a", 20), executor=set_numbers, critic=of_change("1"), settings=ON
    )
    play.run(max_iterations=1)
    assert gates(play) == ["retry", "reject"]
    assert executors_calls(play)[-1] == "round_1/executor_1/revision_1"
    assert "changed nothing" in result(play)["failure_analysis"]["what"]


@pytest.mark.parametrize(
    "critique", [{"score": 7}, pytest.param(failing("output", "prose"), marks=pytest.mark.long)]
)
def test_a_malformed_critique_counts_nothing_and_the_loop_goes_on(
    stage: Stage, critique: Any
) -> None:
    def critic(request: Any, tree: Path) -> Any:
        if "change" not in request.context or request.agent_id == "critic_1":
            return {"score": 1.0}
        if isinstance(critique, dict):
            return critique
        raise critique

    play = stage(
        planner=number_plan("a", 20), critic=critic,
        settings={**ON, "number_of_max_critics": 2, "max_critique_rounds": 1},
    )  # fmt: skip
    play.run(max_iterations=1)
    found = [line["payload"] for line in play.lines(1) if line["type"] == "critique"]
    (told,) = [each for each in found if each.get("executor") and each["critic"] == "critic_2"]
    assert (told["score"], len(told["issues"])) == (0.0, 1)
    assert gates(play) == ["reject"]


@pytest.mark.long
def test_each_change_is_judged_for_itself(stage: Stage) -> None:
    play = stage(
        planner=[[number_plan("a", 20), number_plan("b", 29)]],
        critic=lambda request, tree: of_change("20")(request, tree),
        settings={**ON, "number_of_agents": 2},
    )
    assert play.run(max_iterations=1).state.wins_total == 1
    assert gates(play) == ["commit", "retry", "reject"]
    assert (result(play)["status"], result(play, "executor_2")["status"]) == ("success", "error")


def test_it_is_off_unless_it_is_asked_for(stage: Stage) -> None:
    play = stage(planner=number_plan("a", 20), settings={"number_of_agents": 1})
    assert play.run(max_iterations=1).state.wins_total == 1
    assert executors_calls(play) == ["round_1/executor_1"]
    none = {**ON, "number_of_max_critics": 0}
    play = stage(planner=number_plan("a", 20), settings=none)
    assert play.run(max_iterations=1).state.wins_total == 1
    assert gates(play) == []


@pytest.mark.long
def test_critics_of_changes_are_bound_by_the_budget_of_critics(stage: Stage) -> None:
    play = stage(planner=number_plan("a", 20), settings=ON)
    stopped = play.run(max_iterations=1, **{"budget.roles": {"critic": {"calls": 1}}})
    assert stopped.state.status == "budget"
    assert executors_calls(play) == ["round_1/executor_1"]
    more = play.run(max_iterations=1, **{"budget.roles": {"critic": {"calls": 2}}})
    assert more.state.wins_total == 1
    assert executors_calls(play) == ["round_1/executor_1", "round_1/executor_1/critic_1"]
    assert more.state.totals.calls == len(play.calls)


@pytest.mark.long
def test_what_was_not_criticised_when_the_round_is_over_is_not_measured(stage: Stage) -> None:
    def slow(request: Any, _tree: Path) -> dict[str, Any]:
        if "change" in request.context:
            time.sleep(2)
        return {"score": 1.0}

    play = stage(planner=number_plan("a", 20), critic=slow, settings=ON)
    play.run(max_iterations=1, round_timeout=1.5)
    assert gates(play) == []
    assert result(play)["status"] == "timeout"
    assert not [line for line in play.lines(1) if line["payload"].get("tool") == "benchmark.run"]
