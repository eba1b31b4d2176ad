"""The documents of a run as what a chart shows; pure, and the same for every way of drawing it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from selfimprove.bench.stats import better
from selfimprove.contracts.base import FAMILIES, Direction
from selfimprove.contracts.benchmark import BenchmarkResult
from selfimprove.contracts.merge import MergeReport
from selfimprove.contracts.significance import Estimate
from selfimprove.contracts.tracking import Baseline, RawDataRow, TrackedEvent
from selfimprove.report import gains
from selfimprove.report.gains import Interval
from selfimprove.store.projections import IMPROVEMENT_BRANCH


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
    disqualified: bool = False
    """It moved the number in a way that does not count, or is kept in quarantine."""


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
    gain: Estimate | None = None
    """The reported gain of the run, once it is measured: what scores say of it is not it."""
    exact: bool = False
    """The benchmark repeats exactly: no score flatters."""
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

    @property
    def disqualified(self) -> tuple[Attempt, ...]:
        """The candidates whose score does not count, whether they were given one or not."""
        return tuple(attempt for attempt in self.attempts if attempt.disqualified)


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
    reports = tuple(reports)
    first = gains.measured_interval(baseline.measurement) if baseline else None
    intervals = _merged_intervals(reports, extras.results)
    attempts = tuple(
        Attempt(
            iteration=row.iteration,
            plan_id=row.plan_id,
            family=row.approach_family,
            score=row.benchmark_score,
            winner=row.is_winner,
            interval=intervals.get(row.plan_id),
            disqualified=row.plan_id in extras.disqualified,
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
        best=tuple(_best(subject, attempts, baseline, reports, extras.events)),
        gain=extras.gain,
        exact=baseline is not None and baseline.deterministic,
        families=in_order({row.approach_family for row in rows}),
    )


@dataclass(frozen=True)
class Extras:
    """What a history is better with and can do without."""

    results: tuple[BenchmarkResult, ...] = ()
    """They tell which plan an executor carried out, whose merge has an interval."""
    events: tuple[TrackedEvent, ...] = ()
    """Retractions and moves of the branch, whose details hold the `score` from then on."""
    gain: Estimate | None = None
    """The run's reported gain."""
    disqualified: frozenset[str] = frozenset()
    """Plans whose candidates were."""


def _merged_intervals(
    reports: Iterable[MergeReport], results: Iterable[BenchmarkResult]
) -> dict[str, Interval]:
    """Plan -> interval of its stored score, for what was merged; the rest only qualified."""
    plans = {
        (result.plan_id.split("_planner_")[0], result.executor_id): result.plan_id
        for result in results
    }
    found = {}
    for report in reports:
        for each in gains.confirmations(report):
            plan = plans.get((f"round_{report.iteration}", each.executor_id))
            bounds = gains.score_bounds(each)
            if each.commit and plan and bounds:
                found[plan] = bounds
    return found


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
        yield BestPoint(0, baseline.score, gains.measured_interval(baseline.measurement))
    points = _won(subject, attempts) | _reported(reports)
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


def _reported(reports: Iterable[MergeReport]) -> dict[int, BestPoint]:
    """The stored score after each round that merged: that of its last merge, stacked or not."""
    points: dict[int, BestPoint] = {}
    for report in reports:
        if report.winner is None:
            continue
        last = (report.stacked or [report.winner])[-1]
        bounds = gains.confirmed_interval(report)
        points[report.iteration] = BestPoint(report.iteration, last.score_after, bounds)
    return points
