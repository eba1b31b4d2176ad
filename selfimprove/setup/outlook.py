"""What the noise of a benchmark lets a run prove, told before anything is spent."""

from __future__ import annotations

from collections.abc import Sequence

from selfimprove.bench.estimate import noise, smallest_gain
from selfimprove.bench.sequential import MOST_PAIRS
from selfimprove.contracts.settings import Settings


def provable(scores: Sequence[float], settings: Settings) -> float | None:
    """The smallest gain, in the unit of `noise`, that a round is likely to merge; None: none."""
    spread, _ = noise(scores)
    significance = settings.significance
    if spread == 0:
        return significance.min_effect
    most = significance.max_pairs or MOST_PAIRS
    found = smallest_gain(spread, most, significance.alpha, settings.number_of_agents)
    return None if found is None else found + significance.min_effect


def outlook(scores: Sequence[float], seconds: float, settings: Settings) -> str:
    """One line on the time of a run, its spread, and the gain that can be proven."""
    spread, scale = noise(scores)
    run = f"a run takes {seconds:.2g} s"
    if spread == 0:
        return f"{run} and repeats exactly: one pair proves a gain"
    most = settings.significance.max_pairs or MOST_PAIRS
    found = provable(scores, settings)
    if found is None:
        return f"{run}, spread {_told(spread, scale)}; no gain can be proven with {most} pairs"
    gain = _told(found, scale)
    return f"{run}, spread {_told(spread, scale)}; a gain of {gain} can be proven with {most} pairs"


def _told(value: float, scale: str) -> str:
    return f"{value:.2%}" if scale == "ratio" else f"{value:.3g}"
