"""The sign-flip test behind a confirmation, looked at several times; numpy, many tests at once.

Each row is one test: its pairs' effects in the order they were measured. If the candidate is no
better, and a coin decided which side of each pair ran first, every sign of an effect is a coin
too, whatever the noise. So the observed signed-rank sum is set among the sums that other falls of
those coins would have given: a fixed subgroup of all sign patterns (every one of them up to
`bits` pairs), of which the observed pattern is one. At each look, patterns that do best and have
not crossed yet cross, as many as the error spent so far allows; the test is won when the observed
one is among them. Over all looks at most `stake` of the patterns cross, hence at most that share
of worthless candidates wins, exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from selfimprove.bench.looks import FIRST_LOOK, Looks

Floats = npt.NDArray[np.float64]

HOPEFUL, HOPELESS = 1.0, 0.1
"""Lost when the chance of a win is below 10% even if the gain is a standard error higher."""

_NORMAL = NormalDist()


@dataclass(frozen=True)
class Walk:
    """What each look (column) found in each test (row); looks after the end are NaN."""

    outcome: npt.NDArray[np.int64]
    """1 won, -1 lost, 0 open (at `max_pairs`: indecisive)."""
    pairs: npt.NDArray[np.int64]
    """Pairs used until it was settled."""
    p: Floats
    needed: Floats
    chance: Floats


@lru_cache(maxsize=16)
def sign_patterns(pairs: int, patterns: int) -> npt.NDArray[np.float32]:
    """The subgroup of sign patterns, one a column; the first is the one that flips nothing.

    The first log2(patterns) rows are free of each other; each further one is the product of some
    of them, a different choice each (a linear code), so that no two rows are alike. Within the
    first n rows the first 2^n columns repeat, so early looks need no more than these.
    """
    bits = patterns.bit_length() - 1
    columns = [1 << bit for bit in range(min(bits, pairs))]
    state, seen = 0xACE1, set(columns)
    while len(columns) < pairs:
        state = (state * 1103515245 + 12345) % (1 << 31)
        choice = (state >> 8) % patterns
        if choice.bit_count() >= 3 and choice not in seen:
            seen.add(choice)
            columns.append(choice)
    index = np.arange(patterns)
    table = np.empty((pairs, patterns), dtype=np.float32)
    for row, choice in enumerate(columns):
        table[row] = 1 - 2 * (np.bitwise_count(index & choice) % 2).astype(np.float32)
    return table


def signed_ranks(effects: Floats) -> npt.NDArray[np.float32]:
    """Twice the rank of each effect's size within its row (ties share), with the effect's sign.

    Zeros keep their place in the ranking and count for neither side (Pratt 1959).
    """
    size = np.abs(effects)
    above = size[:, :, None] > size[:, None, :]
    level = size[:, :, None] == size[:, None, :]
    ranks = 2 * above.sum(axis=2) + level.sum(axis=2) + 1
    signed: npt.NDArray[np.float32] = (np.sign(effects) * ranks).astype(np.float32)
    return signed


def chance_of_win(score: Floats, pairs: int, looks: Looks) -> Floats:
    """Conditional power at the end, the drift taken one standard error above what was seen."""
    done = pairs / looks.max_pairs
    if done >= 1:
        return np.zeros_like(score)
    expected = score * math.sqrt(done) + (score + HOPEFUL) / math.sqrt(done) * (1 - done)
    need = (_NORMAL.inv_cdf(1 - looks.stake) - expected) / math.sqrt(1 - done)
    return np.array([_NORMAL.cdf(-each) for each in need])


def walk(effects: Floats, looks: Looks, told: bool = True) -> Walk:
    """Take the looks one after the other, until each test is settled or its pairs run out.

    Without `told`, `p` and `needed` stay NaN: simulations need the outcome alone.
    """
    tests, measured = effects.shape
    points = [point for point in looks.points() if point <= measured]
    outcome = np.zeros(tests, dtype=np.int64)
    pairs = np.full(tests, measured, dtype=np.int64)
    p, needed, chance = (np.full((tests, len(points)), np.nan) for _ in range(3))
    table = sign_patterns(looks.max_pairs, looks.patterns())
    live, crossed = np.arange(tests), np.zeros((tests, 1), dtype=bool)
    for column, point in enumerate(points):
        ranks = signed_ranks(effects[live, :point])
        width = looks.width(point)
        crossed = np.tile(crossed, (1, width // crossed.shape[1]))
        sums = ranks @ table[:point, :width]
        observed = sums[:, 0].copy()
        limit = _limit(sums, crossed, looks.allowed(point))
        if told:
            p[live, column] = (sums >= observed[:, None]).mean(axis=1)
            needed[live, column] = (sums > limit).mean(axis=1)
        crossed |= sums > limit
        size = np.maximum(np.sqrt((ranks.astype(np.float64) ** 2).sum(axis=1)), 1e-9)
        chance[live, column] = chance_of_win(observed / size, point, looks)
        won = crossed[:, 0]
        hopeless = (ranks <= 0).all(axis=1) | (chance[live, column] < HOPELESS)
        lost = ~won & hopeless & (point < looks.max_pairs)
        if point < FIRST_LOOK:
            lost &= (ranks <= 0).all(axis=1)
        outcome[live[won]], outcome[live[lost]] = 1, -1
        pairs[live[won | lost]] = point
        live, crossed = live[~(won | lost)], crossed[~(won | lost)]
        if not len(live):
            break
    return Walk(outcome, pairs, p, needed, chance)


def _limit(
    sums: npt.NDArray[np.float32], crossed: npt.NDArray[np.bool_], allowed: int
) -> npt.NDArray[np.float32]:
    """For each test the sum to exceed, so that no more patterns cross than are allowed by now.

    Patterns of one sum cross together or not at all.
    """
    free = allowed - np.count_nonzero(crossed, axis=1)
    most = int(free.max()) + 1
    left = sums.copy()
    left[crossed] = -np.inf
    left.partition(left.shape[1] - most, axis=1)
    best = np.sort(left[:, -most:], axis=1)
    limit: npt.NDArray[np.float32] = np.take_along_axis(best, most - 1 - free[:, None], axis=1)
    return limit
