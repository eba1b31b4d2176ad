"""How large a gain is, from pairs that decided nothing; how small a gain can be found; pure.

A sequential stop flatters the estimate it stopped on. So the reported gain is the mean of fresh
pairs with Student's interval; on ratio scales both are of the logarithms, turned back.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist

from selfimprove.bench.compare import MOST_PAIRS, least_pairs, next_stake
from selfimprove.bench.effects import as_gain, effects, on_scale, scale_for, scale_of
from selfimprove.bench.stats import mean, median
from selfimprove.contracts.base import Direction
from selfimprove.contracts.benchmark import Pair
from selfimprove.contracts.significance import Estimate, Scale

FOUND = 0.9
"""The chance of a merge that makes a gain count as provable."""
SLOWER, COARSE = 1.2, 0.25
"""What looking often costs beside one t-test, and how coarse ranks of few pairs are."""


def closing(pairs: Sequence[Pair], direction: Direction, alpha: float = 0.05) -> Estimate:
    """The gain and the candidate's score with intervals that hold them in 1 - alpha of cases.

    `pairs` must be fresh: none of them was looked at when the merge was decided. A single pair
    says nothing of its error: its interval is a point, as is right for a benchmark that repeats.
    """
    if not pairs:
        raise ValueError("no closing pairs")
    scale = scale_of(pairs)
    before = median([pair.incumbent.score for pair in pairs])
    gain, low, high = (
        as_gain(effect, direction, scale, before)
        for effect in interval(effects(pairs, direction, scale), alpha)
    )
    scores = [pair.candidate.score for pair in pairs]
    score, score_low, score_high = score_interval(scores, scale, alpha)
    return Estimate(
        scale=scale,
        pairs=len(pairs),
        level=1 - alpha,
        gain=gain,
        low=low,
        high=high,
        score=score,
        score_low=score_low,
        score_high=score_high,
        before=before if scale == "difference" else None,
    )


def score_interval(
    scores: Sequence[float], scale: Scale | None = None, alpha: float = 0.05
) -> tuple[float, float, float]:
    """The mean (the geometric one on a ratio scale) and its interval; the scale as they allow."""
    scale = scale or scale_for(scores)
    middle, low, high = interval(on_scale(scores, scale), alpha)
    if scale == "difference":
        return middle, low, high
    return _exp(middle), _exp(low), _exp(high)


def _exp(value: float) -> float:
    return math.exp(max(-700.0, min(709.0, value)))


def interval(values: Sequence[float], alpha: float) -> tuple[float, float, float]:
    """The mean and Student's two-sided interval around it."""
    middle, half = mean(values), half_width(values, alpha)
    return middle, middle - half, middle + half


def half_width(values: Sequence[float], alpha: float) -> float:
    """Half of Student's two-sided interval of a mean; 0.0 for fewer than two values."""
    if len(values) < 2:
        return 0.0
    return quantile(alpha, len(values) - 1) * deviation(values) / math.sqrt(len(values))


def deviation(values: Sequence[float]) -> float:
    """The sample's standard deviation; 0.0 for fewer than two values."""
    if len(values) < 2:
        return 0.0
    middle = mean(values)
    largest = max(abs(value - middle) for value in values)
    if largest == 0.0:
        return 0.0
    squares = math.fsum(((value - middle) / largest) ** 2 for value in values)
    return largest * math.sqrt(squares / (len(values) - 1))


def noise(scores: Sequence[float]) -> tuple[float, Scale]:
    """Standard deviation of a single run as a share of its mean, where all are above zero."""
    scale: Scale = scale_for(scores) if scores else "difference"
    return deviation(on_scale(scores, scale)), scale


@lru_cache(maxsize=1024)
def quantile(alpha: float, freedom: int) -> float:
    """Student's t beyond which (on both sides) lies `alpha`, for whole degrees of freedom."""
    low, high = 0.0, 1.0
    while _inside(high, freedom) < 1 - alpha:
        low, high = high, high * 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _inside(middle, freedom) < 1 - alpha else (low, middle)
    return high


def _inside(t: float, freedom: int) -> float:
    """P(|T| <= t), the finite sums of Abramowitz and Stegun 26.7.3 and 26.7.4."""
    angle = math.atan(t / math.sqrt(freedom))
    sine, square = math.sin(angle), math.cos(angle) ** 2
    if freedom % 2 == 0:
        term, total = 1.0, 1.0
        for k in range(2, freedom, 2):
            term *= square * (k - 1) / k
            total += term
        return sine * total
    if freedom == 1:
        return 2 * angle / math.pi
    term = total = math.cos(angle)
    for k in range(3, freedom, 2):
        term *= square * (k - 1) / k
        total += term
    return 2 / math.pi * (angle + sine * total)


def smallest_gain(
    spread: float, max_pairs: int = MOST_PAIRS, alpha: float = 0.05, candidates: int = 3
) -> float | None:
    """The gain that is merged in 90% of rounds where it is ranked first; None: none can be.

    `spread` is the standard deviation of a single run; the gain is in the same unit. A formula
    for normal noise, fitted to simulations of the test (within 10% from 6 pairs to 48).
    """
    stake = next_stake(alpha, (), candidates, max_pairs)
    if not stake:
        return None
    least = least_pairs(stake)
    normal = NormalDist()
    errors = normal.inv_cdf(1 - stake) + normal.inv_cdf(FOUND)
    gain = SLOWER * (1 + COARSE * (least / max_pairs) ** 2) * errors / math.sqrt(max_pairs)
    if max_pairs == least:  # every pair must be won
        gain = max(gain, normal.inv_cdf(FOUND ** (1 / max_pairs)))
    return spread * math.sqrt(2) * gain


def pairs_in(
    seconds: float | None, run_seconds: float, alpha: float = 0.05, rounds: int = 10
) -> int:
    """The `max_pairs` that lets so many rounds fit in the time there is; at most 32.

    A round is taken to be one confirmation to its end. Never below what can prove anything.
    """
    if seconds is None or run_seconds <= 0:
        return MOST_PAIRS
    fitting = int(seconds / rounds / (2 * run_seconds))
    return max(least_pairs(alpha), min(MOST_PAIRS, fitting))
