"""Plain statistics of scores; pure, and safe for any finite numbers."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

from selfimprove.contracts.base import Direction

NEAR_ZERO = 1e-12
"""Scores this close to zero have no relative gain; the difference itself is taken."""


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean, without overflow."""
    if not values:
        raise ValueError("no values")
    share = len(values)
    return held(math.fsum(value / share for value in values))


def median(values: Sequence[float]) -> float:
    """The middle value, or the middle of the two middle ones."""
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    half = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[half]
    low, high = ordered[half - 1], ordered[half]
    return low / 2 + high / 2 if low != high else low


def better(before: float, after: float, direction: Direction) -> bool:
    """Whether `after` is strictly better; a tie is not."""
    return after > before if direction == "higher_is_better" else after < before


def relative_gain(before: float, after: float, direction: Direction) -> float:
    """How much better `after` is, as a share of `before`; below zero where it is worse.

    Where `before` is within 1e-12 of zero a share means nothing: the plain difference is given.
    """
    ahead, behind = (after, before) if direction == "higher_is_better" else (before, after)
    if abs(before) <= NEAR_ZERO:
        return held(ahead - behind)
    scale = abs(before)
    return held(ahead / scale - behind / scale)


def spread(values: Sequence[float]) -> float:
    """The largest less the smallest, as a share of the median (plain where that is near zero)."""
    middle = abs(median(values))
    wide = held(max(values) - min(values))
    return wide if middle <= NEAR_ZERO else held(wide / middle)


def held(value: float) -> float:
    """Records hold finite numbers only."""
    return max(-sys.float_info.max, min(sys.float_info.max, value))
