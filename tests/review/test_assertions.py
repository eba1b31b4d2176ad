"""What plans assert, beside what was measured."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfimprove.contracts.base import utc_now
from selfimprove.contracts.benchmark import BenchmarkResult, Fingerprint, Measurement, Sample
from selfimprove.review.assertions import LENGTH, MOST, asserted, counted, values

MARK = Fingerprint(
    protocol=1, machine="m", environment="e", benchmark="b", settings="s", level="off"
)


def known(**fields: Any) -> dict[str, Any]:
    samples = [
        Sample(score=score, sub_scores={"p50": score / 10}, duration_s=2.0, memory_mb=100.0)
        for score in (88.0, 92.0)
    ]
    result = BenchmarkResult(
        executor_id="executor_1", plan_id="round_1_planner_a", benchmark_score=90.0,
        benchmark_raw="", status="success", timestamp=utc_now(),
        measurement=Measurement(samples=samples, fingerprint=MARK), **fields,
    )  # fmt: skip
    return values(result, "latency", "lower_is_better", 100.0, 2)


@pytest.mark.parametrize(
    ("text", "truth", "why"),
    [
        ("score <= 90", True, ""),
        ("latency < 90", False, "latency is 90"),
        ("gain >= 0.1", True, ""),
        ("gain >= 0.1 and incumbent == 100", True, ""),
        ("gain > 0.2", False, "gain is 0.1"),
        ("p50 <= 9", True, ""),
        ("sub_scores.p50 <= 8", False, ""),
        ("duration_s <= 2 && memory_mb < 300 && files_changed == 2", True, ""),
        ("p99 <= 9", None, "not measured"),
        ("no PII in logs", None, "in words"),
        ("dim = 3072", None, "in words"),
        ("latency < 90 ms", None, "in words"),
        ("", None, "in words"),
        (f"score < {'9' * LENGTH}", None, "in words"),
        (f"{'(' * 140}score{')' * 140} < 9", None, "not measured"),
    ],
)
def test_expressions_are_true_or_false_and_words_are_neither(
    text: str, truth: bool | None, why: str
) -> None:
    (found,) = asserted([text], known())
    assert found.holds is truth
    assert why in found.why


def test_they_are_counted_where_somebody_can_tell() -> None:
    told = asserted(["score <= 90", "score < 1", "fast", "p99 < 1"], known())
    assert counted(told) == {"held": 1, "failed": 1}
    assert counted(asserted(["fast"], known())) == {}
    assert [set(each.document()) for each in told] == [
        {"text", "holds"}, {"text", "holds", "why"}, {"text", "why"}, {"text", "why"},
    ]  # fmt: skip
    assert len(asserted(["score < 1"] * 99, known())) == MOST


@given(st.text(alphabet="score()<=>!&|+-*/.0129 'ab_[]{}\\\n", max_size=60))
def test_no_text_is_more_than_an_assertion(text: str) -> None:
    (found,) = asserted([text], known())
    assert found.holds in (True, False, None)
