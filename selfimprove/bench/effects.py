"""How much better one side of a pair is: log ratio of positive scores, else difference; pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from selfimprove.bench.stats import NEAR_ZERO, held, median
from selfimprove.contracts.base import Direction
from selfimprove.contracts.benchmark import Pair
from selfimprove.contracts.significance import Estimate, Scale, Trial


def scale_for(scores: Iterable[float]) -> Scale:
    """Ratios where every score is above zero, differences elsewhere."""
    return "ratio" if all(score > 0 for score in scores) else "difference"


def on_scale(scores: Sequence[float], scale: Scale) -> list[float]:
    """The scores as they lie on a scale: their logarithms where ratios are compared."""
    return [math.log(score) for score in scores] if scale == "ratio" else list(scores)


def scale_of(pairs: Sequence[Pair], relative: bool = True) -> Scale:
    """Ratios where every score is above zero; a plain minimum effect needs plain differences."""
    scores = [side.score for pair in pairs for side in (pair.incumbent, pair.candidate)]
    return scale_for(scores) if relative else "difference"


def effects(pairs: Sequence[Pair], direction: Direction, scale: Scale) -> list[float]:
    """Each pair's gain on its scale; above zero: the candidate is better, 0: an exact tie."""
    sign = 1.0 if direction == "higher_is_better" else -1.0
    return [sign * _step(pair.incumbent.score, pair.candidate.score, scale) for pair in pairs]


def _step(before: float, after: float, scale: Scale) -> float:
    if scale == "ratio":
        return math.log(after) - math.log(before)
    return held(after - before)


def hurdle(trial: Trial, pairs: Sequence[Pair], scale: Scale) -> float:
    """The minimum effect on the scale of the effects."""
    if scale == "ratio":
        if trial.direction == "higher_is_better":
            return math.log1p(trial.min_effect)
        return -math.log1p(-trial.min_effect) if trial.min_effect < 1 else math.inf
    if not trial.relative or not trial.min_effect:
        return trial.min_effect
    middle = abs(median([pair.incumbent.score for pair in pairs]))
    return trial.min_effect * (middle if middle > NEAR_ZERO else 1.0)


def as_gain(effect: float, direction: Direction, scale: Scale, before: float) -> float:
    """An effect as a share of the score before; plain where that is near zero."""
    if scale == "difference":
        return held(effect / (abs(before) if abs(before) > NEAR_ZERO else 1.0))
    bounded = max(-700.0, min(700.0, effect))
    return math.expm1(bounded) if direction == "higher_is_better" else -math.expm1(-bounded)


def in_scores(found: Estimate) -> tuple[float, float, float] | None:
    """The gain and its interval in the score's own unit; None where a share says more.

    A share of a score that may lie at or below zero says nothing: 1 after -0.01 is no 10,100%.
    """
    if found.scale == "ratio" or found.before is None:
        return None
    unit = abs(found.before) if abs(found.before) > NEAR_ZERO else 1.0
    return held(found.gain * unit), held(found.low * unit), held(found.high * unit)
