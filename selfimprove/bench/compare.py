"""Whether a candidate is better than the incumbent, from measurements alone; pure.

A deterministic benchmark must improve strictly. Any other must win each of three interleaved
pairs, whose order alternates so that drift favours neither side. A tie is never a win.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from selfimprove.bench.stats import better, median, relative_gain
from selfimprove.contracts.base import Direction
from selfimprove.contracts.benchmark import Pair

PAIRS_WANTED = 3


@dataclass(frozen=True)
class Verdict:
    """What the pairs measured so far say."""

    holds: bool | None
    """None: more pairs are wanted."""
    reason: str
    score_before: float | None
    """Median of the incumbent's samples; None before any pair."""
    score_after: float | None
    gain: float | None
    """Median of the pairs' gains: drift between pairs does not enter it."""


def candidate_first(index: int) -> bool:
    """The order of the pair with this index (from 0)."""
    return index % 2 == 1


def pairs_wanted(deterministic: bool) -> int:
    """How many pairs it takes for a candidate to hold."""
    return 1 if deterministic else PAIRS_WANTED


def holds(pairs: Sequence[Pair], direction: Direction, deterministic: bool) -> Verdict:
    """Judge the pairs; a lost or tied pair settles it at once."""
    _check(pairs)
    if not pairs:
        return Verdict(None, "nothing measured yet", None, None, None)
    wanted = pairs_wanted(deterministic)
    won = sum(_won(pair, direction) for pair in pairs)
    before = median([pair.incumbent.score for pair in pairs])
    after = median([pair.candidate.score for pair in pairs])
    gain = median(
        [relative_gain(pair.incumbent.score, pair.candidate.score, direction) for pair in pairs]
    )
    if won < len(pairs):
        return Verdict(False, _lost(pairs, direction, deterministic), before, after, gain)
    if len(pairs) < wanted:
        return Verdict(None, f"won {won} of {wanted} pairs so far", before, after, gain)
    how = "strictly better" if deterministic else f"won each of {len(pairs)} pairs"
    return Verdict(True, how, before, after, gain)


def _won(pair: Pair, direction: Direction) -> bool:
    return better(pair.incumbent.score, pair.candidate.score, direction)


def _lost(pairs: Sequence[Pair], direction: Direction, deterministic: bool) -> str:
    index, pair = next((i, p) for i, p in enumerate(pairs, 1) if not _won(p, direction))
    tie = pair.candidate.score == pair.incumbent.score
    figures = f"{pair.candidate.score:g} against {pair.incumbent.score:g}"
    if deterministic:
        return f"exactly equal ({figures})" if tie else f"worse ({figures})"
    return f"{'tied' if tie else 'lost'} pair {index} ({figures})"


def _check(pairs: Sequence[Pair]) -> None:
    """A caller's mistake would make the comparison unfair: refuse it."""
    for index, pair in enumerate(pairs):
        if pair.incumbent.seed != pair.candidate.seed:
            raise ValueError(f"pair {index} has two seeds")
        if index and pair.candidate_first == pairs[index - 1].candidate_first:
            raise ValueError(f"pairs {index - 1} and {index} were measured in the same order")
