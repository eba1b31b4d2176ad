"""What the noise of a benchmark lets a run prove, told before anything is spent."""

from __future__ import annotations

from collections.abc import Sequence

from selfimprove.bench.compare import MOST_PAIRS
from selfimprove.bench.estimate import noise, smallest_gain
from selfimprove.bench.screening import Race
from selfimprove.bench.stats import mean
from selfimprove.contracts.settings import Settings
from selfimprove.steps.confirming import most_pairs, time_there_is


def provable(scores: Sequence[float], settings: Settings, most: int = MOST_PAIRS) -> float | None:
    """The smallest gain, in the unit of `noise`, that a round is likely to merge; None: none.

    `most` is the number of pairs where `max_pairs` is not set.
    """
    spread, _ = noise(scores)
    significance = settings.significance
    if spread == 0:
        return significance.min_effect
    pairs = significance.max_pairs or most
    found = smallest_gain(spread, pairs, significance.alpha, settings.number_of_agents)
    return None if found is None else found + significance.min_effect


def drift(scores: Sequence[float]) -> float:
    """How far the later half of the runs lies from the earlier, in the unit of `noise`."""
    half = len(scores) // 2
    if not half:
        return 0.0
    before, after = mean(scores[:half]), mean(scores[-half:])
    return after / before - 1 if noise(scores)[1] == "ratio" else after - before


def round_seconds(
    settings: Settings, run_seconds: float, given: float | None = None, *, exact: bool = False
) -> float:
    """How long a round measures: ranking, one confirmation to its end, its closing pairs."""
    significance, many = settings.significance, settings.number_of_agents
    if exact:
        return run_seconds * (many + 2)
    pairs = most_pairs(settings, run_seconds, given) + significance.closing_pairs
    return run_seconds * (Race.least * many + 2 * pairs)


def outlook(
    scores: Sequence[float], seconds: float, settings: Settings, given: float | None = None
) -> str:
    """One line: the time of a run, spread, drift, the gain that can be proven, rounds that fit.

    `given` is the time there is for the whole run, in seconds; None where it has no end.
    """
    spread, scale = noise(scores)
    run = f"a run takes {seconds:.2g} s"
    exact = spread == 0
    each = round_seconds(settings, seconds, given, exact=exact)
    rounds = _rounds(each, time_there_is(settings, given))
    if exact:
        return f"{run} and repeats exactly: one pair proves a gain; {rounds}"
    most = most_pairs(settings, seconds, given)
    found = provable(scores, settings, most)
    noisy = f"{run}, spread {_told(spread, scale)}, drift {_told(drift(scores), scale)}"
    if found is None:
        return f"{noisy}; no gain can be proven with {most} pairs; {rounds}"
    return f"{noisy}; a gain of {_told(found, scale)} can be proven with {most} pairs; {rounds}"


def _rounds(each: float, given: float | None) -> str:
    told = f"a round measures for about {each:.3g} s, agents aside"
    if given is None or each <= 0:
        return told
    return f"{told}: {int(given / each)} fit in the time there is"


def _told(value: float, scale: str) -> str:
    return f"{value:.2%}" if scale == "ratio" else f"{value:.3g}"
