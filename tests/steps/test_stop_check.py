"""Counters and stops through the loop: what ends a run, with which exit code."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from selfimprove.deps import Deadline
from selfimprove.process import StopToken
from selfimprove.testing import failing, goal_text
from selfimprove.testing.rehearsal import Rehearsal, number_plan, stopping

from .test_tournament import NOISE

Stage = Callable[..., Rehearsal]
ONE = {"number_of_agents": 1, "quality_threshold": 0.0}
FIXED = number_plan("a", 20)
"""A plan that wins once, and is refused or without effect from then on."""


def smaller_and_smaller(request: Any, tree: Any) -> dict[str, Any]:
    """Wins a thousandth each round."""
    now = int((tree / "src/a").read_text())
    return number_plan("a", now - 1)(request, tree)


def fresh_but_worse(request: Any, tree: Any) -> dict[str, Any]:
    """Something else that is worse each round."""
    return number_plan("a", 50 + request.round)(request, tree)


def counts(play: Rehearsal) -> tuple[int, int, int]:
    found = play.document("state/agent-settings.json")
    return (
        found["plateau_consecutive_count"],
        found["patience_count"],
        found["circuit_breaker_count"],
    )


@pytest.mark.parametrize(
    ("planner", "settings", "status", "code", "rounds", "left"),
    [
        (FIXED, {"target_value": 80}, "target_reached", 0, 1, (0, 0, 0)),
        (smaller_and_smaller, {"plateau_threshold": 0.1, "plateau_window": 2}, "plateau", 0, 2, (2, 0, 0)),  # noqa: E501
        (fresh_but_worse, {"patience": 2}, "patience", 0, 2, (0, 2, 0)),
        (FIXED, {"max_iterations": 1}, "max_iterations", 0, 1, (0, 0, 0)),
        (failing(), {"circuit_breaker_threshold": 2}, "circuit_breaker", 4, 2, (0, 0, 2)),
        (FIXED, {"budget.run.calls": 3}, "budget", 0, 1, (0, 0, 0)),
    ],
)  # fmt: skip
def test_each_stop_has_its_status_reason_and_exit_code(
    stage: Stage, planner: Any, settings: Any, status: str, code: int, rounds: int, left: Any
) -> None:
    play = stage(planner=planner, settings={**ONE, **settings})
    outcome = play.run()
    assert outcome.state.settings is not None
    assert (outcome.state.status, outcome.exit_code) == (status, code)
    assert outcome.state.number == rounds
    assert outcome.state.settings.reason
    assert counts(play) == left
    last = play.lines(rounds)[-1]["payload"]
    assert (last["event"], last["status"], last["exit_code"]) == ("stopped", status, code)
    assert (last["before"], last["wins"]) == (90.0, outcome.state.wins_total)
    again = play.run()
    assert (again.went_on, again.exit_code) == (False, code)
    assert play.said[-1].startswith("this run has ended: ")


def test_counters_follow_what_each_round_came_to(stage: Stage) -> None:
    seen: list[tuple[int, int, int]] = []

    def watch(envelope: Any, _state: Any) -> None:
        if envelope.payload.get("event") == "recorded":
            seen.append(tuple(envelope.payload["counters"][name] for name in (
                "plateau_consecutive_count", "patience_count", "circuit_breaker_count",
            )))  # fmt: skip

    plans = [
        failing(),  # nothing to measure: breaker
        number_plan("a", 99),  # measured, no win: patience; the breaker stays
        number_plan("a", 29),  # a small win: plateau, others to 0
        number_plan("a", 28, family="data"),  # another
        number_plan("b", 1, family="architecture"),  # a large one: all to 0
    ]
    play = stage(planner=plans, settings={**ONE, "plateau_threshold": 0.1})
    play.run([watch], max_iterations=5)
    assert seen == [(0, 0, 1), (0, 1, 1), (1, 0, 0), (2, 0, 0), (0, 0, 0)]


def test_no_measurement_begins_that_could_not_end_in_time(stage: Stage) -> None:
    play = stage(settings=ONE)
    play.run(max_iterations=0)
    begun = time.monotonic()
    outcome = play.run(deadline=Deadline(time.monotonic() + 0.05), max_iterations=9)
    assert time.monotonic() - begun < 10
    assert (outcome.state.status, outcome.exit_code) == ("time", 0)
    assert outcome.state.wins_total == 0
    # and another start, with more time, goes on
    assert play.run(max_iterations=1).state.wins_total == 1


@dataclass(frozen=True)
class Hurry(Deadline):
    """A time that is over when a test says so, whatever the machine is doing."""

    seconds: list[float] = field(default_factory=list)

    def allows(self, seconds: float) -> bool:
        return not self.seconds or seconds <= self.seconds[-1]


def noisy_two(stage: Stage) -> Rehearsal:
    """A gain in each round on a benchmark that varies a little."""
    settings = {"alpha": 0.2, "max_pairs": 6, "closing_pairs": 2}
    return stage(
        planner=[number_plan("a", 20), number_plan("a", 10)],
        score=NOISE,
        settings={**ONE, **{f"significance.{name}": value for name, value in settings.items()}},
    )


@pytest.mark.long
def test_time_is_kept_back_for_the_gain_of_a_run_that_ends_within_a_round(stage: Stage) -> None:
    play = noisy_two(stage)
    clock = Hurry()

    def hurry(envelope: Any, state: Any) -> None:
        """In the second round there is time for the last measurement alone."""
        if envelope.payload.get("intent") == "execute" and state.number == 2:
            samples = state.baseline.measurement.samples
            clock.seconds.append(4 * max(sample.duration_s for sample in samples))

    outcome = play.run([hurry], deadline=clock, max_iterations=2)
    state = outcome.state
    assert (state.status, state.number, state.wins_total) == ("time", 2, 1)
    assert state.final is not None
    assert state.final_of == state.incumbent.commit
    assert (state.final.pairs, state.final_pairs) == (2, [])
    # what follows has a tip of its own, and its gain is measured anew
    state = play.run(max_iterations=2).state
    assert (state.status, state.wins_total) == ("max_iterations", 2)
    assert state.final_of == state.incumbent.commit
    assert state.final.gain > 0.18  # 90 to 70


@pytest.mark.long
def test_the_gain_of_a_run_that_a_person_stopped_is_measured_at_the_next_stop(stage: Stage) -> None:
    play, stop = noisy_two(stage), StopToken()
    second = lambda envelope: envelope.payload.get("round") == 2  # noqa: E731
    state = play.run([stopping(stop, second)], stop, max_iterations=2).state
    assert (state.status, state.final) == ("user_stopped", None)
    state = play.run(max_iterations=1).state
    assert state.status == "max_iterations"
    assert state.final is not None
    assert state.final_of == state.incumbent.commit


def test_a_stop_by_a_person_is_resumable_with_130(stage: Stage) -> None:
    play = stage(settings=ONE)
    stop = StopToken()
    outcome = play.run(
        [stopping(stop, lambda envelope: envelope.payload.get("intent") == "plan")],
        stop,
        max_iterations=1,
    )
    assert (outcome.state.status, outcome.exit_code) == ("user_stopped", 130)
    assert play.document("state/iteration_state.json")["status"] == "interrupted"
    again = play.run(max_iterations=1)
    assert again.went_on
    assert (again.state.status, again.state.wins_total) == ("max_iterations", 1)


def test_the_stop_file_ends_a_run_between_two_lines(stage: Stage) -> None:
    play = stage(settings=ONE)

    def touch(envelope: Any, _state: Any) -> None:
        if envelope.payload.get("event") == "recorded":
            play.layout.stop_file.touch()
            time.sleep(1.2)

    outcome = play.run([touch], max_iterations=50)
    assert outcome.state.status == "user_stopped"
    assert not play.layout.stop_file.exists()


def test_a_target_that_holds_already_ends_the_run_before_a_round(stage: Stage) -> None:
    play = stage(goal=goal_text("sh bench.sh", target="100"), settings=ONE)
    outcome = play.run()
    assert (outcome.state.status, outcome.state.number) == ("target_reached", 0)
    assert [call for call in play.calls if "planner" in call] == []
