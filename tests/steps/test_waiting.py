"""Agents that cannot be reached are waited for; no counter moves, and the run can be resumed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from selfimprove.agents.base import AgentFailure
from selfimprove.steps import waiting
from selfimprove.testing import failing
from selfimprove.testing.rehearsal import Rehearsal, number_plan, set_numbers

Stage = Callable[..., Rehearsal]
ONE = {"number_of_agents": 1, "quality_threshold": 0.0}


@pytest.fixture(autouse=True)
def _in_haste(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "FIRST_PAUSE_S", 0.01)


class Outage:
    """An agent's part that cannot be reached the first so many times."""

    def __init__(self, part: Any, times: int, **failure: Any) -> None:
        self.part, self.left, self.failure = part, times, failure

    def __call__(self, request: Any, tree: Path) -> Any:
        if self.left:
            self.left -= 1
            raise AgentFailure("unreachable", "HTTP 529: overloaded", **self.failure)
        return self.part(request, tree) if callable(self.part) else self.part


def events(play: Rehearsal) -> list[str]:
    return [line["payload"].get("event", "") for line in play.lines(1)]


def test_an_outage_is_waited_out_and_nothing_is_counted(stage: Stage) -> None:
    planner, executor = Outage(number_plan("a", 9), 3), Outage(set_numbers, 1)
    play = stage(planner=planner, executor=executor, settings=ONE)
    outcome = play.run(max_iterations=1)
    assert (outcome.state.status, outcome.state.wins_total) == ("max_iterations", 1)
    assert events(play).count("waiting") == events(play).count("waited") == 4
    told = [line["payload"] for line in play.lines(1) if line["payload"].get("event") == "waiting"]
    assert told[0]["reason"] == "HTTP 529: overloaded"
    assert told[0]["until"].endswith("Z")
    assert outcome.state.settings is not None
    assert outcome.state.settings.waiting_until == ""
    planned = [call for call in play.calls if "planner_a/plan" in call]
    assert len(planned) == 4  # and not given up after two, as a failure is


@pytest.mark.parametrize("given", [{"agent_wait": 0}, {}])
def test_whoever_stays_away_stops_the_run_resumably(stage: Stage, given: dict[str, Any]) -> None:
    # a limit that ends a week from now is not waited for
    away = {} if given else {"retry_after": 7 * 86_400.0}
    play = stage(planner=Outage(number_plan("a", 9), 1, **away), settings=ONE)
    outcome = play.run(max_iterations=1, **given)
    assert (outcome.state.status, outcome.exit_code) == ("waiting", 1)
    settings = outcome.state.settings
    assert settings is not None
    assert (settings.circuit_breaker_count, settings.patience_count) == (0, 0)
    assert settings.waiting_until > "2026"
    again = play.run(max_iterations=1)
    assert (again.state.status, again.state.wins_total) == ("max_iterations", 1)
    assert play.calls.count("round_1/researcher") == 1


def test_other_failures_are_not_waited_for(stage: Stage) -> None:
    play = stage(planner=failing("timeout"), settings=ONE)
    play.run(max_iterations=1)
    assert "waiting" not in events(play)
    assert len([call for call in play.calls if "planner" in call]) == 2


def test_waits_do_not_shorten_the_round(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "FIRST_PAUSE_S", 1.2)
    play = stage(planner=Outage(number_plan("a", 9), 1), settings=ONE)
    outcome = play.run(max_iterations=1)
    assert outcome.state.round is not None
    assert (outcome.state.round.waited_s or 0) >= 1.2
