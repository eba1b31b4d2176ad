"""The documents of a run as what a chart shows; pure, and the same for every way of drawing it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from selfimprove.bench.stats import better
from selfimprove.contracts.base import FAMILIES, Direction
from selfimprove.contracts.benchmark import BenchmarkResult
from selfimprove.contracts.merge import MergeReport
from selfimprove.contracts.tracking import Baseline, RawDataRow, TrackedEvent
from selfimprove.store.projections import IMPROVEMENT_BRANCH

Interval = tuple[float, float]


@dataclass(frozen=True)
class Attempt:
    """One candidate, measured or not."""

    iteration: int
    plan_id: str
    family: str
    score: float | None
    """None: it failed, or was never carried out."""
    winner: bool
    interval: Interval | None = None


@dataclass(frozen=True)
class BestPoint:
    """The best score as it stood after a round; round 0 is the baseline."""

    iteration: int
    score: float
    interval: Interval | None = None


@dataclass(frozen=True)
class ScoreHistory:
    """Everything that the chart of a run shows."""

    metric: str
    direction: Direction
    title: str = ""
    unit: str = ""
    baseline: float | None = None
    baseline_interval: Interval | None = None
    target: float | None = None
    attempts: tuple[Attempt, ...] = ()
    best: tuple[BestPoint, ...] = ()
    families: tuple[str, ...] = field(default=())
    """Those that occur: the taxonomy's in its order, then the user's own by name."""

    @property
    def last_round(self) -> int:
        """The last round that anything is known of."""
        return max([a.iteration for a in self.attempts] + [p.iteration for p in self.best] + [0])

    @property
    def final(self) -> float | None:
        """The best score at the end."""
        return self.best[-1].score if self.best else None

    @property
    def failed(self) -> tuple[Attempt, ...]:
        """The candidates without a score."""
        return tuple(attempt for attempt in self.attempts if attempt.score is None)


@dataclass(frozen=True)
class Subject:
    """What the scores are of."""

    metric: str
    direction: Direction
    target: float | None = None
    title: str = ""
    unit: str = ""


def score_history(
    subject: Subject,
    rows: Sequence[RawDataRow],
    baseline: Baseline | None = None,
    reports: Iterable[MergeReport] = (),
    extras: Extras | None = None,
) -> ScoreHistory:
    """Put the rows of raw_data.json, the merge reports and the baseline together."""
    extras = extras or Extras()
    first = baseline.measurement.interval if baseline else None
    intervals = {
        result.plan_id: result.measurement.interval
        for result in extras.results
        if result.measurement
    }
    attempts = tuple(
        Attempt(
            iteration=row.iteration,
            plan_id=row.plan_id,
            family=row.approach_family,
            score=row.benchmark_score,
            winner=row.is_winner,
            interval=intervals.get(row.plan_id),
        )
        for row in rows
    )
    return ScoreHistory(
        metric=subject.metric,
        direction=subject.direction,
        title=subject.title,
        unit=subject.unit,
        baseline=baseline.score if baseline else None,
        baseline_interval=first,
        target=subject.target,
        attempts=attempts,
        best=tuple(_best(subject, attempts, baseline, tuple(reports), extras.events)),
        families=in_order({row.approach_family for row in rows}),
    )


@dataclass(frozen=True)
class Extras:
    """What a history is better with and can do without."""

    results: tuple[BenchmarkResult, ...] = ()
    """Intervals of the candidates' scores."""
    events: tuple[TrackedEvent, ...] = ()
    """Retractions and moves of the branch, whose details hold the `score` from then on."""


def in_order(families: set[str]) -> tuple[str, ...]:
    """The taxonomy's families in its order, then others by name."""
    known = [family for family in FAMILIES if family in families]
    return (*known, *sorted(families - set(known)))


def _best(
    subject: Subject,
    attempts: tuple[Attempt, ...],
    baseline: Baseline | None,
    reports: tuple[MergeReport, ...],
    events: tuple[TrackedEvent, ...],
) -> Iterable[BestPoint]:
    if baseline:
        yield BestPoint(0, baseline.score, baseline.measurement.interval)
    points = _won(subject, attempts) | _reported(subject, reports)
    for event in events:
        moved_to = event.details.get("score")
        moved = event.details.get("field") == IMPROVEMENT_BRANCH
        if moved and isinstance(moved_to, int | float):
            points[event.iteration] = BestPoint(event.iteration, float(moved_to))
    for iteration in sorted(points):
        yield points[iteration]


def _won(subject: Subject, attempts: tuple[Attempt, ...]) -> dict[int, BestPoint]:
    """The best winner of each round by its rows: enough where a merge report is missing."""
    points: dict[int, BestPoint] = {}
    for attempt in attempts:
        if not attempt.winner or attempt.score is None:
            continue
        held = points.get(attempt.iteration)
        if held is None or better(held.score, attempt.score, subject.direction):
            points[attempt.iteration] = BestPoint(
                attempt.iteration, attempt.score, attempt.interval
            )
    return points


def _reported(subject: Subject, reports: tuple[MergeReport, ...]) -> dict[int, BestPoint]:
    """The confirmed score after each round that merged, stacked runners-up included."""
    points: dict[int, BestPoint] = {}
    for report in reports:
        if report.winner is None:
            continue
        after = [report.winner.score_after, *(more.score_after for more in report.stacked)]
        final = min(after) if subject.direction == "lower_is_better" else max(after)
        points[report.iteration] = BestPoint(report.iteration, final, confirmed_interval(report))
    return points


def confirmed_interval(report: MergeReport) -> Interval | None:
    """The interval of a merge's confirmed score, where the comparison gave one."""
    found = (report.evidence or {}).get("interval")
    if isinstance(found, list | tuple) and len(found) == 2:
        low, high = found
        return float(low), float(high)
    return None
