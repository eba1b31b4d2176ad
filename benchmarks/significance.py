"""What the decision on a candidate is worth: wrong merges, found gains, honest estimates.

    python benchmarks/significance.py [--quick] [--json] [--rounds N] [--jobs N] [--seed N]

Simulated rounds on the product's own screening, stakes, test and estimate. Prints beside it what
the rule that open loops share would do: the best single run against the stored best, one re-run
to confirm. Exits with 1 where a limit is missed by more than chance allows.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one process a core is faster

import numpy as np
from simulated_rounds import NOISES, Round, honest_runs, naive_merges, play

LEVELS = (0.01, 0.03, 0.10)


@dataclass(frozen=True)
class Figure:
    """One simulated cell and its limit."""

    part: str
    what: str
    value: float
    limit: float
    at_least: bool
    of: int
    """Simulated rounds; 0: the value is no share of them."""
    more: str = ""

    def missed(self) -> bool:
        """Beyond the limit by more than three standard errors of the simulation."""
        slack = 3 * math.sqrt(self.limit * (1 - self.limit) / self.of) if self.of else 0.0
        if self.at_least:
            return self.value < self.limit - slack
        return self.value > self.limit + slack

    def line(self) -> str:
        """As it is printed."""
        sign = ">=" if self.at_least else "<="
        verdict = "MISSED" if self.missed() else "ok"
        asked = f"{sign} {self.limit:<5g} {verdict}" if 0 < self.limit < 1 or not self.of else ""
        return f"{self.part:8} {self.what:48} {self.value:7.4f} {asked:16}{self.more}"


def same(cell: tuple[str, float, int, float, int, int]) -> Figure:
    """Rounds whose candidates change nothing."""
    noise, level, candidates, alpha, rounds, seed = cell
    rng = np.random.default_rng(seed)
    setup = Round(noise, level, (0.0,) * candidates, alpha)
    played = play(setup, rounds, rng)
    naive = naive_merges(setup, rounds, rng)
    more = f" pairs {played.pairs.mean():.0f}, single-run rule {naive:.2f}"
    what = f"{noise}, {level:.0%} noise, {candidates} no-ops, alpha {alpha:g}"
    return Figure("A/A", what, float((played.merged >= 0).mean()), alpha, False, rounds, more)


def pooled(cells: list[Figure], alpha: float) -> Figure:
    """All cells of one alpha together: less chance in it than in any one of them."""
    mine = [cell for cell in cells if cell.limit == alpha]
    share = sum(cell.value for cell in mine) / len(mine)
    what = f"all {len(mine)} of alpha {alpha:g} together"
    return Figure("A/A", what, share, alpha, False, sum(cell.of for cell in mine))


def alternating(cell: tuple[str, int, int]) -> Figure:
    """The same where the order alternates strictly: why it is drawn by a coin. Without a limit."""
    noise, rounds, seed = cell
    setup = Round(noise, 0.03, (0.0,) * 3, 0.05, coin=False)
    played = play(setup, rounds, np.random.default_rng(seed))
    what = f"{noise}, 3 no-ops, were the order to alternate"
    return Figure("order", what, float((played.merged >= 0).mean()), 1.0, False, rounds)


def power(cell: tuple[float, int, int]) -> list[Figure]:
    """One of three candidates gains so many standard deviations of a single run."""
    gain, rounds, seed = cell
    rng = np.random.default_rng(seed)
    played = play(Round("normal", 0.03, (gain, 0.0, 0.0), 0.05), rounds, rng)
    least, pairs = {0.5: (0.0, 64), 1.0: (0.9, 24), 1.5: (0.95, 24), 2.0: (0.99, 10)}[gain]
    told = f" screening runs {played.screened.mean():.1f}"
    wrong = float(played.wrong.mean())
    return [
        Figure(
            "power",
            f"{gain:g} sd: merged",
            float((played.merged == 0).mean()),
            least,
            True,
            rounds,
            told,
        ),
        Figure(
            "power", f"{gain:g} sd: pairs on average", float(played.pairs.mean()), pairs, False, 0
        ),
        Figure("power", f"{gain:g} sd: a no-op merged or stacked", wrong, 0.05, False, rounds),
    ]


def honesty(cell: tuple[str, int, int]) -> list[Figure]:
    """Runs of 20 rounds: the gain that is reported at the end, and after each merge."""
    noise, runs, seed = cell
    found = honest_runs(noise, 0.03, runs, np.random.default_rng(seed))
    told = f" {found.merges} merges; the pairs that decided are off by {found.flattered:+.2f} sd"
    return [
        Figure(
            "honesty",
            f"{noise}: |mean error| of the run's gain, sd",
            abs(found.run_error),
            0.1,
            False,
            0,
        ),
        Figure(
            "honesty", f"{noise}: its interval holds the truth", found.run_covered, 0.95, True, runs
        ),
        Figure(
            "honesty",
            f"{noise}: |mean error| after a merge, sd",
            abs(found.merge_error),
            0.1,
            False,
            0,
            told,
        ),
        Figure(
            "honesty",
            f"{noise}: its interval holds the truth",
            found.merge_covered,
            0.95,
            True,
            found.merges,
        ),
    ]


def figures(rounds: int, quick: bool, jobs: int, seed: int) -> Iterator[Figure]:
    """Every cell, spread over the cores."""
    levels = (0.03,) if quick else LEVELS
    seeds = iter(range(seed, seed + 10_000))
    null = [
        (noise, level, candidates, alpha, rounds, next(seeds))
        for noise in NOISES
        for level in levels
        for candidates in (3, 5)
        for alpha in (0.05, 0.01)
    ]
    strong = [(gain, rounds, next(seeds)) for gain in (0.5, 1.0, 1.5, 2.0)]
    orders = [(noise, rounds, next(seeds)) for noise in ("AR(1) 0.5", "AR(1) 0.9")]
    runs = [(noise, rounds // 2, next(seeds)) for noise in ("normal", "log-normal", "AR(1) 0.5")]
    with ProcessPoolExecutor(jobs) as pool:
        waiting = [pool.submit(honesty, cell) for cell in runs]
        waiting += [pool.submit(power, cell) for cell in strong]
        done = list(pool.map(same, null))
        yield from done
        yield from (pooled(done, alpha) for alpha in (0.05, 0.01))
        yield from pool.map(alternating, orders)
        for each in waiting:
            yield from each.result()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, one noise level")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    started, missed = time.monotonic(), 0
    rounds = given.rounds or (300 if given.quick else 2000)
    for figure in figures(rounds, given.quick, given.jobs, given.seed):
        missed += figure.missed()
        print(json.dumps(asdict(figure)) if given.json else figure.line(), flush=True)
    if not given.json:
        print(f"{missed} limits missed, {time.monotonic() - started:.0f} s")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
