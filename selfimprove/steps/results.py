"""What became of a candidate before the tournament, in the contract's terms."""

from __future__ import annotations

from selfimprove.bench.failures import Failed
from selfimprove.contracts.base import utc_now
from selfimprove.contracts.benchmark import (
    BenchmarkResult,
    Category,
    Disqualification,
    FailureAnalysis,
    Fingerprint,
    Measurement,
)
from selfimprove.store.state_actors import ExecutorState


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


def from_samples(
    executor_id: str, executor: ExecutorState, score: float, fingerprint: Fingerprint
) -> BenchmarkResult:
    """A measured candidate: its runs, and the score they are summed up in."""
    return BenchmarkResult(
        executor_id=executor_id,
        plan_id=executor.plan_id,
        benchmark_score=score,
        benchmark_raw=executor.raw,
        status="success",
        sub_scores=executor.samples[-1].sub_scores,
        failure_analysis=None,
        timestamp=utc_now(),
        measurement=Measurement(samples=executor.samples, fingerprint=fingerprint),
        claim=executor.candidate.claim if executor.candidate else None,
    )


def analysis(category: Category, what: str, why: str, lesson: str) -> FailureAnalysis:
    """A failure analysis; each part is one line for a planner to learn from."""
    return FailureAnalysis(category=category, what=what, why=why, lesson=lesson)


def regression(score: float, before: float, metric: str) -> FailureAnalysis:
    """Why a measured candidate counts as a regression; `before` is the incumbent's score."""
    return analysis(
        "regression",
        f"{metric} went from {before:g} to {score:g}",
        "the change made the measured work worse, beyond the noise of single runs",
        "do not repeat this change; the opposite direction may be worth a try",
    )
