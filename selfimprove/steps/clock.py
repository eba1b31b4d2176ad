"""What measuring takes, and the time that is kept back for the run's last measurement."""

from __future__ import annotations

from selfimprove.contracts.settings import Settings
from selfimprove.deps import Deps
from selfimprove.steps.base import EndRun
from selfimprove.store.state import State


def expected_seconds(state: State) -> float:
    """How long one measurement takes, from the baseline's slowest run."""
    assert state.baseline is not None
    return max(sample.duration_s for sample in state.baseline.measurement.samples)


def owed_pairs(state: State, settings: Settings) -> int:
    """Fresh pairs of the first base and the tip that are wanted when the run stops here; 0: none.

    None are where nothing was merged, where it was measured already, and where a score repeats.
    """
    if state.facts is None or state.incumbent is None or state.baseline is None:
        return 0
    tip = state.incumbent.commit
    if state.facts.deterministic or tip == state.baseline.commit or state.final_of == tip:
        return 0
    return settings.significance.closing_pairs


def final_seconds(state: State, settings: Settings) -> float:
    """How long the last measurement would take from here."""
    left = max(0, owed_pairs(state, settings) - len(state.final_pairs))
    return 2 * left * expected_seconds(state) if left else 0.0


def ensure_time(state: State, deps: Deps, seconds: float) -> None:
    """Raise EndRun where a measurement of this length would take time that the last one needs."""
    if not deps.deadline.allows(seconds + final_seconds(state, deps.config.settings)):
        raise EndRun("time", "the time given is over: no further measurement would end in it")
