"""When a confirmation is looked at, and how much error it may have spent by then; pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

FIRST_LOOK, GROWTH = 6, 7 / 6
"""Fewer pairs prove nothing at the usual stakes; from there looks thin out."""
ALL_LOST = 4
"""So many pairs without a single win, and it is lost."""
LEAST_BITS, MOST_BITS, LEAST_CROSSING = 12, 16, 8
"""Sign patterns: powers of two, and how many of them the whole stake should be at least."""


@dataclass(frozen=True)
class Looks:
    """When one test is looked at, and how much error it may spend."""

    stake: float
    max_pairs: int
    bits: int = 0
    """Two to this power sign patterns; 0: as many as the stake asks for."""

    def points(self) -> list[int]:
        """The numbers of pairs at which there is a look."""
        early = [ALL_LOST] if self.max_pairs > ALL_LOST else []
        at = FIRST_LOOK
        while at <= 0.85 * self.max_pairs:
            early.append(at)
            at = max(at + 1, round(at * GROWTH))
        return [*early, self.max_pairs]

    def patterns(self) -> int:
        """How many sign patterns the observed one is set among."""
        wanted = math.ceil(math.log2(LEAST_CROSSING / self.stake))
        return 1 << (self.bits or max(LEAST_BITS, min(MOST_BITS, wanted)))

    def width(self, pairs: int) -> int:
        """How many of them differ in so many pairs."""
        return min(self.patterns(), 1 << pairs)

    def allowed(self, pairs: int) -> int:
        """How many of these may have crossed by now: the error is spent evenly over the pairs."""
        share = min(1.0, pairs / self.max_pairs)
        return int(self.stake * share * self.width(pairs) + 1e-9)
