"""Which candidate to confirm first, on few runs each; it ranks, it never decides; pure.

Every candidate gets a few runs; those the leader has not clearly left behind get some more. The
estimate is the median of the means of two runs (Hodges and Lehmann 1963): nearly as sharp as the
mean, and one wild run does not move it. A candidate worse than the incumbent beyond noise is out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from selfimprove.bench.effects import as_gain
from selfimprove.bench.stats import median
from selfimprove.contracts.base import Direction
from selfimprove.contracts.significance import Scale


@dataclass(frozen=True)
class Race:
    """How candidates are screened."""

    direction: Direction
    noise: float
    """Standard deviation of a single run, on the scale; 0: it repeats, and one run is enough."""
    scale: Scale = "ratio"
    least: int = 3
    most: int = 5
    clear: float = 2.0
    """Standard errors by which the leader must be ahead for the others to get no further runs."""
    hopeless: float = 3.0
    """Standard errors behind the incumbent at which a candidate is out."""


Runs = Mapping[str, Sequence[float]]


def estimate(scores: Sequence[float], scale: Scale = "difference") -> float:
    """The middle of the scores on their scale: the median of all means of two."""
    values = [math.log(score) for score in scores] if scale == "ratio" else list(scores)
    return median([a / 2 + b / 2 for i, a in enumerate(values) for b in values[i:]])


def next_runs(race: Race, runs: Runs, incumbent: Sequence[float] = ()) -> list[str]:
    """Whom to run next, one run each in this order; nobody when the ranking stands.

    The order turns by one each time, so that no candidate is always the first to run.
    """
    least, most = (race.least, race.most) if race.noise > 0 else (1, 1)
    out = dropped(race, runs, incumbent)
    alive = [name for name in runs if name not in out]
    wanting = [name for name in alive if len(runs[name]) < least]
    if not wanting and len(alive) > 1:
        close = _contenders(race, {name: runs[name] for name in alive})
        wanting = [name for name in close if len(runs[name]) < most] if len(close) > 1 else []
    turn = max((len(scores) for scores in runs.values()), default=0) % max(1, len(wanting))
    return wanting[turn:] + wanting[:turn]


def ranked(race: Race, runs: Runs, incumbent: Sequence[float] = ()) -> list[str]:
    """Who is to be confirmed, best first; ties stay in the order given."""
    out = dropped(race, runs, incumbent)
    alive = [name for name, scores in runs.items() if scores and name not in out]
    return sorted(alive, key=lambda name: -_merit(race, runs[name]))


def dropped(race: Race, runs: Runs, incumbent: Sequence[float]) -> dict[str, str]:
    """Who is out, and why: worse than the incumbent beyond noise."""
    if not incumbent:
        return {}
    found = {}
    for name, scores in runs.items():
        if not scores:
            continue
        behind = _merit(race, incumbent) - _merit(race, scores)
        if behind > race.hopeless * race.noise * math.sqrt(1 / len(scores) + 1 / len(incumbent)):
            before = estimate(incumbent)
            worse = -as_gain(-behind, race.direction, race.scale, before)
            found[name] = f"worse by {worse:.3g} (share of the incumbent), beyond noise"
    return found


def _merit(race: Race, scores: Sequence[float]) -> float:
    sign = 1.0 if race.direction == "higher_is_better" else -1.0
    return sign * estimate(scores, race.scale)


def _contenders(race: Race, runs: Runs) -> list[str]:
    """The leader and all it has not clearly left behind."""
    merits = {name: _merit(race, scores) for name, scores in runs.items()}
    leader = max(merits, key=lambda name: merits[name])
    return [
        name
        for name, merit in merits.items()
        if merits[leader] - merit
        <= race.clear * race.noise * math.sqrt(1 / len(runs[name]) + 1 / len(runs[leader]))
    ]
