"""Which candidate to confirm first, on few runs each; it ranks, it never decides; pure.

Every candidate gets a few runs; those the leader has not clearly left behind get some more. The
estimate is the median of the means of two runs (Hodges and Lehmann 1963): nearly as sharp as the
mean, and one wild run does not move it. The incumbent runs in the same race, in turn with the
candidates: a machine that has become slower slows it too. Who is worse than it beyond noise is out.
The noise is that of runs of one commit, pooled over all commits; as it rests on few runs, what is
"beyond" is by Student's t (Student 1908), not by the normal distribution.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from selfimprove.bench.effects import as_gain, on_scale, scale_for
from selfimprove.bench.estimate import deviation, quantile
from selfimprove.bench.stats import median
from selfimprove.contracts.base import Direction
from selfimprove.contracts.benchmark import INCUMBENT
from selfimprove.contracts.significance import Scale


@dataclass(frozen=True)
class Race:
    """How candidates are screened."""

    direction: Direction
    noise: float
    """Standard deviation of a single run, on the scale; 0: it repeats, and one run is enough."""
    scale: Scale = "ratio"
    freedom: int | None = None
    """Degrees of freedom that the noise rests on; None: it is known."""
    least: int = 3
    most: int = 5
    clear: float = 2.0
    """Standard errors by which the leader must be ahead for the others to get no further runs."""
    hopeless: float = 3.0
    """Standard errors behind the incumbent at which a candidate is out."""

    def reach(self, errors: float, runs: int, others: int) -> float:
        """How far apart two estimates of so many runs may lie before it counts, on the scale."""
        factor = errors if self.freedom is None else _as_sure(errors, self.freedom)
        return factor * self.noise * math.sqrt(1 / runs + 1 / others)


Runs = Mapping[str, Sequence[float]]


def race_on(direction: Direction, groups: Sequence[Sequence[float]], exact: bool = False) -> Race:
    """A race by what has been measured until now: each group holds runs of one commit at one time.

    Only what differs within a group is noise, so neither gains nor drift between the groups are
    taken for it. `exact`: the benchmark repeats, whatever the commit.
    """
    scale = scale_for(score for group in groups for score in group)
    freedom = sum(max(0, len(group) - 1) for group in groups)
    if exact or not freedom:
        return Race(direction, 0.0, scale)
    spreads = [
        deviation(on_scale(group, scale)) * math.sqrt((len(group) - 1) / freedom)
        for group in groups
        if len(group) > 1
    ]
    return Race(direction, math.hypot(*spreads), scale, freedom)


def _as_sure(errors: float, freedom: int) -> float:
    """Student's t that is passed by luck as rarely as so many errors of a normal distribution."""
    return quantile(math.erfc(errors / math.sqrt(2)), freedom)


def estimate(scores: Sequence[float], scale: Scale = "difference") -> float:
    """The middle of the scores on their scale: the median of all means of two."""
    values = on_scale(scores, scale)
    return median([a / 2 + b / 2 for i, a in enumerate(values) for b in values[i:]])


def next_runs(race: Race, runs: Runs, incumbent: Sequence[float] | None = None) -> list[str]:
    """Whom to run next, one run each in this order; nobody when the ranking stands.

    `incumbent`: its runs in this race, where it takes part; it gets as many as every candidate
    does. The order turns by one each time, so that nobody is always the first to run.
    """
    least, most = (race.least, race.most) if race.noise > 0 else (1, 1)
    out = dropped(race, runs, incumbent or ())
    alive = [name for name in runs if name not in out]
    wanting = [name for name in alive if len(runs[name]) < least]
    if incumbent is not None and alive and len(incumbent) < least:
        wanting.append(INCUMBENT)
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
        if behind > race.reach(race.hopeless, len(scores), len(incumbent)):
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
        if merits[leader] - merit <= race.reach(race.clear, len(runs[name]), len(runs[leader]))
    ]
