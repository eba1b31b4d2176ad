"""What became of a candidate before the tournament, in the contract's terms."""

from __future__ import annotations

from selfimprove.bench.failures import Failed
from selfimprove.bench.measure import Measured
from selfimprove.bench.stats import better, relative_gain, spread
from selfimprove.contracts.base import Direction, utc_now
from selfimprove.contracts.benchmark import (
    BenchmarkResult,
    Category,
    Disqualification,
    FailureAnalysis,
    Fingerprint,
    Measurement,
    ResultStatus,
)
from selfimprove.contracts.tracking import Baseline
from selfimprove.store.state import ExecutorState, Incumbent


def failure(
    executor_id: str,
    executor: ExecutorState,
    analysis: FailureAnalysis,
    disqualification: Disqualification | None = None,
) -> BenchmarkResult:
    """A candidate that was never measured."""
    return BenchmarkResult(
        executor_id=executor_id,
        plan_id=executor.plan_id,
        benchmark_score=None,
        benchmark_raw="",
        status="timeout" if analysis.category == "timeout" else "error",
        failure_analysis=analysis,
        timestamp=utc_now(),
        disqualification=disqualification,
        claim=executor.candidate.claim if executor.candidate else None,
    )


def from_failed(executor_id: str, executor: ExecutorState, failed: Failed) -> BenchmarkResult:
    """A candidate whose measurement gave no score."""
    result = failure(executor_id, executor, failed.analysis, failed.disqualification)
    return result.model_copy(update={"benchmark_raw": failed.raw, "status": failed.status})


def from_sample(
    executor_id: str,
    executor: ExecutorState,
    found: Measured,
    status: ResultStatus,
    fingerprint: Fingerprint,
) -> BenchmarkResult:
    """A measured candidate; `status` is the screening's word on it."""
    sample = found.sample
    return BenchmarkResult(
        executor_id=executor_id,
        plan_id=executor.plan_id,
        benchmark_score=sample.score,
        benchmark_raw=found.raw,
        status=status,
        sub_scores=sample.sub_scores,
        failure_analysis=None,
        timestamp=utc_now(),
        measurement=Measurement(samples=[sample], fingerprint=fingerprint),
        claim=executor.candidate.claim if executor.candidate else None,
    )


def analysis(category: Category, what: str, why: str, lesson: str) -> FailureAnalysis:
    """A failure analysis; each part is one line for a planner to learn from."""
    return FailureAnalysis(category=category, what=what, why=why, lesson=lesson)


def screening(
    score: float, incumbent: Incumbent, baseline: Baseline, direction: Direction
) -> ResultStatus:
    """`regression` where the score is worse than the incumbent's beyond the baseline's spread."""
    if not better(score, incumbent.score, direction):
        return "success"
    loss = -relative_gain(incumbent.score, score, direction)
    noise = spread([sample.score for sample in baseline.measurement.samples])
    return "regression" if loss > noise else "success"


def regression(score: float, incumbent: Incumbent, metric: str) -> FailureAnalysis:
    """Why a measured candidate counts as a regression."""
    return analysis(
        "regression",
        f"{metric} went from {incumbent.score:g} to {score:g}",
        "the change made the measured work worse by more than the baseline's own spread",
        "do not repeat this change; the opposite direction may be worth a try",
    )
