"""Step 7: go on, or stop and why; every rule is a function of the record."""

from __future__ import annotations

from collections.abc import Generator

from selfimprove.bench.failures import Failed
from selfimprove.contracts.agent import RunStatus
from selfimprove.contracts.envelope import Draft, control
from selfimprove.contracts.settings import BudgetSettings, Settings
from selfimprove.deps import Deadline, Deps
from selfimprove.steps import budget
from selfimprove.steps.base import Drafts, topic
from selfimprove.steps.clock import final_seconds, owed_pairs
from selfimprove.steps.confirming import Sides, estimate, measure_pair
from selfimprove.store.state import State

Stop = tuple[RunStatus, str]


def run(state: State, deps: Deps) -> Drafts:
    """Decide whether another round follows."""
    state = yield from look_outside(state, deps)
    stop = why_stop(state, deps.config.settings, deps.deadline)
    moved = deps.publisher.moved(state)
    if moved:
        stop = ("failed", moved)
    decision, reason = stop or ("go_on", "")
    if stop is not None and stop[0] != "failed":
        state = yield from measure_final(state, deps)
    yield control(topic(state, "stop_check"), "decided", decision=decision, reason=reason)


def look_outside(state: State, deps: Deps) -> Generator[Draft, State, State]:
    """Tell what changed in the user's repository since the last look, and leave it as it is."""
    found = [str(each) for each in deps.watch.differences()]
    if found:
        state = yield control(f"round_{state.number}/outside", "outside_changed", changed=found)
    return state


def measure_final(state: State, deps: Deps) -> Generator[Draft, State, State]:
    """Measure the first base against the tip in fresh pairs: the run's reported gain.

    What each merge claims was chosen for being high, if by a little; this was not. Time is kept
    back for it; it is skipped where there is none all the same, because agents took longer.
    """
    settings = deps.config.settings
    wanted = owed_pairs(state, settings)
    if not wanted or not deps.deadline.allows(final_seconds(state, settings)):
        return state
    baseline, incumbent = state.baseline, state.incumbent
    assert baseline is not None
    assert incumbent is not None
    sides = Sides(baseline.commit, incumbent.commit, "run", "final")
    while len(state.final_pairs) < wanted:
        found, state = yield from measure_pair(state, deps, sides, len(state.final_pairs))
        if isinstance(found, Failed):
            return state
    told = estimate(state, state.final_pairs)
    assert told is not None
    about = topic(state, "stop_check", "final")
    return (yield control(about, "final", estimate=told.document(), commit=incumbent.commit))


def why_stop(state: State, settings: Settings, deadline: Deadline) -> Stop | None:
    """The first rule that ends the run, or None."""
    for rule in (_target, _plateau, _patience, _maximum, _breaker):
        stop = rule(state, settings)
        if stop:
            return stop
    spent = budget.used_up(state, settings, deadline)
    if not spent and state.status == "budget" and state.round and state.round.status != "completed":
        spent = budget.used_up_within(state, settings, deadline) or _still_too_little(
            state, settings
        )
    if spent:
        return "budget", spent
    if not deadline.allows(final_seconds(state, settings)):
        return "time", "the time given is over"
    return None


def _still_too_little(state: State, settings: Settings) -> str:
    """Why a run that stopped before a limit, which its next request might have passed, stays so.

    Minutes are counted anew at each start, so that a run they stopped may go on.
    """
    now = settings.budget
    if not state.config or any(limit.minutes is not None for _, limit in now.limits()):
        return ""
    before = BudgetSettings.parse(state.config.get("budget", {}), "the recorded budget")
    assert state.settings is not None
    return state.settings.reason if before == now else ""


def _target(state: State, settings: Settings) -> Stop | None:
    assert state.facts is not None
    assert state.settings is not None
    best, target = state.settings.best_score, settings.target_value
    if best is None or target is None:
        return None
    higher = state.facts.direction == "higher_is_better"
    if best >= target if higher else best <= target:
        return "target_reached", f"{state.facts.metric} is {best:g}, the target is {target:g}"
    return None


def _plateau(state: State, settings: Settings) -> Stop | None:
    assert state.settings is not None
    count = state.settings.plateau_consecutive_count
    if count >= settings.plateau_window:
        return "plateau", f"{count} wins running gained less than {settings.plateau_threshold:.2%}"
    return None


def _patience(state: State, settings: Settings) -> Stop | None:
    assert state.settings is not None
    count = state.settings.patience_count
    if count >= settings.patience:
        return "patience", f"{count} rounds without a win"
    return None


def _maximum(state: State, settings: Settings) -> Stop | None:
    under_way = state.round is not None and state.round.status == "interrupted"
    done = state.number - under_way
    if done >= settings.max_iterations:
        return "max_iterations", f"{done} of {settings.max_iterations} iterations are done"
    return None


def _breaker(state: State, settings: Settings) -> Stop | None:
    assert state.settings is not None
    count = state.settings.circuit_breaker_count
    if count >= settings.circuit_breaker_threshold:
        return "circuit_breaker", f"{count} rounds in which nothing could be measured"
    return None
