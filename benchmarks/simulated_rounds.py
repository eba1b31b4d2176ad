"""Rounds of the tournament on simulated scores; the decisions are the product's own.

Time passes as it does in a round: the baseline, screening beside the incumbent, then the pairs of
one confirmation after the other, one run after the other, on one series of noise. Only the coin of
the order is numpy's, for speed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from selfimprove.bench.compare import MOST_PAIRS, next_stake
from selfimprove.bench.estimate import closing
from selfimprove.bench.looks import Looks
from selfimprove.bench.screening import next_runs, race_on, ranked
from selfimprove.bench.signflip import walk
from selfimprove.contracts.benchmark import INCUMBENT, Pair, Sample
from selfimprove.contracts.significance import Stake

Floats = npt.NDArray[np.float64]
History = tuple[tuple[Stake, ...], int]
"""What a round has staked until now, and how many candidates it has to confirm."""
CHUNK = 500
MOST_SCREENED = 5
BASELINE = 3


def _ar(rng: np.random.Generator, shape: tuple[int, int], rho: float) -> Floats:
    noise = rng.normal(size=shape)
    noise[:, 1:] *= math.sqrt(1 - rho**2)
    for at in range(1, shape[1]):
        noise[:, at] += rho * noise[:, at - 1]
    return noise


def _step(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Three standard deviations, up or down, at any time."""
    at = rng.integers(shape[1], size=(shape[0], 1))
    return rng.normal(size=shape) + 3 * rng.choice([-1, 1], (shape[0], 1)) * (
        np.arange(shape[1]) >= at
    )


def _skewed(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Log-normal of shape 1, turned so that its tail is on the bad side."""
    drawn = np.exp(rng.normal(size=shape))
    return (math.exp(0.5) - drawn) / math.sqrt((math.e - 1) * math.e)


def _spiky(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """One run in ten is five times worse than the rest is wide."""
    drawn = rng.normal(size=shape) - 5.0 * (rng.random(shape) < 0.1)
    return (drawn + 0.5) / math.sqrt(1 + 25 * 0.09)


# All of standard deviation 1, the step apart; below zero: a worse run.
NOISES: dict[str, Callable[[np.random.Generator, tuple[int, int]], Floats]] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "log-normal": _skewed,
    "t, 3 degrees": lambda rng, shape: rng.standard_t(3, size=shape) / math.sqrt(3),
    "spiky": _spiky,
    "AR(1) 0.5": lambda rng, shape: _ar(rng, shape, 0.5),
    "AR(1) 0.9": lambda rng, shape: _ar(rng, shape, 0.9),
    "step": _step,
}


@dataclass(frozen=True)
class Round:
    """What is simulated: the gains are true ones, in standard deviations of a single run."""

    noise: str
    level: float
    gains: tuple[float, ...]
    alpha: float
    max_pairs: int = MOST_PAIRS
    coin: bool = True
    """False: the order alternates strictly."""

    def runs(self) -> int:
        """The most runs a round can take."""
        each = MOST_SCREENED + 2 * self.max_pairs
        return BASELINE + MOST_SCREENED + len(self.gains) * each


@dataclass(frozen=True)
class Played:
    """What became of each round."""

    merged: npt.NDArray[np.int64]
    """The first candidate merged; -1: none."""
    wrong: npt.NDArray[np.bool_]
    """Whether a no-op was merged, or stacked after a win."""
    pairs: npt.NDArray[np.int64]
    """Pairs until the first merge, or until nobody is left."""
    screened: npt.NDArray[np.int64]


class _Clock:
    """The noise of each round, run by run."""

    def __init__(self, setup: Round, rounds: int, rng: np.random.Generator) -> None:
        self.level, self.noise = setup.level, NOISES[setup.noise](rng, (rounds, setup.runs()))
        self.at = np.zeros(rounds, dtype=np.int64)

    def scores(self, rows: npt.NDArray[np.int64], runs: int, gains: Floats) -> Floats:
        """The next runs of these rounds; the caller moves the clock."""
        noise = self.noise[rows[:, None], self.at[rows][:, None] + np.arange(runs)]
        return np.maximum(100 * (1 + self.level * (noise + gains)), 0.01)


def play(setup: Round, rounds: int, rng: np.random.Generator) -> Played:
    """Screen, then confirm in order of rank; after a win the rest is tried on top of it."""
    clock, gains = _Clock(setup, rounds, rng), np.array(setup.gains)
    orders = [_screen(setup, clock, row) for row in range(rounds)]
    order = np.array([each + [-1] * (len(gains) - len(each)) for each in orders])
    left = np.array([len(each) for each in orders])
    screened = clock.at - BASELINE
    merged, wrong = np.full(rounds, -1), np.zeros(rounds, dtype=bool)
    pairs = np.zeros(rounds, dtype=np.int64)
    histories: dict[History, npt.NDArray[np.int64]]
    histories = {((), many): np.flatnonzero(left == many) for many in range(1, len(gains) + 1)}
    for place in range(len(gains)):
        later: dict[History, list[npt.NDArray[np.int64]]] = {}
        for (spent, many), rows in histories.items():
            if place == many:  # whoever is left was hopeless
                continue
            stake = next_stake(setup.alpha, spent, many - place, setup.max_pairs)
            won = np.zeros(len(rows), dtype=bool)
            for start in range(0, len(rows) if stake else 0, CHUNK):
                part = rows[start : start + CHUNK]
                found, used = _confirm(setup, clock, part, gains[order[part, place]], rng, stake)
                won[start : start + CHUNK] = found
                pairs[part] += np.where(merged[part] < 0, used, 0)
            winners = rows[won]
            wrong[winners] |= gains[order[winners, place]] <= 0
            first = winners[merged[winners] < 0]
            merged[first] = order[first, place]
            for outcome in (True, False):
                history = (*spent, Stake(stake=stake, merged=outcome))
                later.setdefault((history, many), []).append(rows[won == outcome])
        histories = {key: np.concatenate(parts) for key, parts in later.items()}
    return Played(merged, wrong, pairs, screened)


def _screen(setup: Round, clock: _Clock, row: int) -> list[int]:
    """Who is left, best first; as in a run, the noise is not known but measured."""
    here = np.array([row])

    def score(gain: float) -> float:
        found = float(clock.scores(here, 1, np.array([gain]))[0, 0])
        clock.at[row] += 1
        return found

    baseline = [score(0.0) for _ in range(BASELINE)]
    beside: list[float] = []
    runs: dict[str, list[float]] = {str(number): [] for number in range(len(setup.gains))}
    while True:
        race = race_on("higher_is_better", [baseline, beside, *runs.values()])
        wanting = next_runs(race, runs, beside)
        if not wanting:
            return [int(name) for name in ranked(race, runs, beside)]
        for name in wanting:
            if name == INCUMBENT:
                beside.append(score(0.0))
            else:
                runs[name].append(score(setup.gains[int(name)]))


def _confirm(
    setup: Round,
    clock: _Clock,
    rows: npt.NDArray[np.int64],
    gains: Floats,
    rng: np.random.Generator,
    stake: float,
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
    """Whether each row's candidate wins, and in how many pairs."""
    pairs = setup.max_pairs
    shape = (len(rows), pairs)
    ahead = (
        rng.random(shape) < 0.5 if setup.coin else np.tile(np.arange(pairs) % 2 == 1, (shape[0], 1))
    )
    candidate = np.stack([ahead, ~ahead], axis=2).reshape(shape[0], 2 * pairs)
    scores = np.log(clock.scores(rows, 2 * pairs, candidate * gains[:, None]))
    gained = (scores[:, 0::2] - scores[:, 1::2]) * np.where(ahead, 1, -1)
    found = walk(gained, Looks(stake, pairs, bits=12), told=False)
    clock.at[rows] += 2 * found.pairs
    return found.outcome == 1, found.pairs


def naive_merges(setup: Round, rounds: int, rng: np.random.Generator) -> float:
    """How often the single-run rule merges: at least the stored best, and once more on a re-run."""
    clock, merges = NOISES[setup.noise](rng, (rounds, 1 + 2 * len(setup.gains))), 0
    for noise in clock:
        stored, first = noise[0], noise[1 : 1 + len(setup.gains)]
        again = noise[1 + len(setup.gains) :]
        merges += any(
            first[name] >= stored and again[turn] >= stored
            for turn, name in enumerate(np.argsort(-first))
        )
    return merges / rounds


@dataclass(frozen=True)
class Honest:
    """Errors in standard deviations of a single run; shares of intervals that hold the truth."""

    run_error: float
    run_covered: float
    merge_error: float
    merge_covered: float
    flattered: float
    merges: int


def honest_runs(noise: str, level: float, runs: int, rng: np.random.Generator) -> Honest:
    """Runs of 20 rounds, most candidates worthless; closing pairs after merges and at the end."""
    tips = np.ones(runs)
    after: list[tuple[float, bool]] = []
    flattered: list[float] = []
    for _ in range(20):
        gains = np.where(rng.random(runs) < 0.3, rng.normal(0.3, 0.7, size=runs), 0.0)
        deciding, won = _deciding(noise, level, gains, rng)
        flattered += list((deciding - gains)[won])
        truth = gains[won] * level
        after += _closed(noise, level, truth, rng)
        tips[won] *= 1 + truth
    at_end = _closed(noise, level, tips - 1, rng)
    return Honest(
        run_error=float(np.mean([error for error, _ in at_end])),
        run_covered=float(np.mean([held for _, held in at_end])),
        merge_error=float(np.mean([error for error, _ in after])),
        merge_covered=float(np.mean([held for _, held in after])),
        flattered=float(np.mean(flattered)),
        merges=len(after),
    )


def _pairs_of(
    noise: str, level: float, gains: Floats, pairs: int, rng: np.random.Generator
) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    """Scores of incumbent and candidate in fresh pairs; gains are shares of the incumbent."""
    ahead = rng.random((len(gains), pairs)) < 0.5
    drawn = NOISES[noise](rng, (len(gains), 2 * pairs))
    one, two = drawn[:, 0::2], drawn[:, 1::2]
    before = 100 * np.maximum(1 + level * np.where(ahead, two, one), 0.01)
    after = 100 * np.maximum(1 + level * np.where(ahead, one, two), 0.01) * (1 + gains[:, None])
    return before, after, ahead


def _deciding(
    noise: str, level: float, gains: Floats, rng: np.random.Generator
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """The mean gain of the pairs that decided, in standard deviations, and who won."""
    before, after, _ = _pairs_of(noise, level, gains * level, MOST_PAIRS, rng)
    gained = np.log(after / before)
    found = walk(gained, Looks(0.035, MOST_PAIRS), told=False)
    told = [row[:used].mean() for row, used in zip(gained, found.pairs, strict=True)]
    return np.expm1(told) / level, found.outcome == 1


def _closed(
    noise: str, level: float, truth: Floats, rng: np.random.Generator
) -> list[tuple[float, bool]]:
    """The error of each reported gain, and whether its interval holds the truth."""
    before, after, ahead = _pairs_of(noise, level, truth, 8, rng)
    found = []
    for row, gain in enumerate(truth):
        told = closing(
            [
                Pair(
                    incumbent=Sample(score=old, duration_s=1),
                    candidate=Sample(score=new, duration_s=1),
                    candidate_first=first,
                )
                for old, new, first in zip(
                    before[row], after[row], ahead[row].tolist(), strict=True
                )
            ],
            "higher_is_better",
        )
        found.append(((told.gain - float(gain)) / level, told.low <= gain <= told.high))
    return found
