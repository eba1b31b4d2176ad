"""Constraints and declared sub-scores."""

from __future__ import annotations

import pytest

from selfimprove.bench.conditions import broken_constraints, broken_sub_scores, half_width, holds
from selfimprove.contracts.benchmark import Pair, Sample
from selfimprove.contracts.goal import SubScoreRule
from selfimprove.errors import ConfigError


def sample(score: float, **sub_scores: float) -> Sample:
    return Sample(score=score, sub_scores=sub_scores, duration_s=1.0, memory_mb=100.0)


def pair(before: float, after: float) -> Pair:
    incumbent, candidate = sample(1.0, accuracy=before), sample(1.0, accuracy=after)
    return Pair(incumbent=incumbent, candidate=candidate, candidate_first=False)


def test_expressions_speak_of_values() -> None:
    values = {"accuracy": 0.99, "score": 3.0, "sub_scores": {"accuracy": 0.99}}
    assert holds("accuracy >= 0.98 && score < 4", values) is True
    assert holds("sub_scores.accuracy > 1 || score == 2", values) is False
    assert holds("2 * score > 5", values) is True
    assert holds("nobody > 1", values) is None


def test_what_is_no_expression_is_refused() -> None:
    with pytest.raises(ConfigError, match="is no expression"):
        holds("a >>> 1", {})


def test_nothing_is_evaluated_as_python() -> None:
    with pytest.raises(ConfigError):
        holds("__import__('os').system('true')  if 1 else 2", {})


def test_one_bad_sample_breaks_no_constraint() -> None:
    noisy = [sample(1.0, accuracy=value) for value in (0.99, 0.97, 0.985, 0.99)]
    assert broken_constraints(["accuracy >= 0.98"], noisy, "ms", 1) == []


def test_a_constraint_that_is_surely_false_is_named() -> None:
    bad = [sample(1.0, accuracy=value) for value in (0.90, 0.91, 0.90)]
    (broken,) = broken_constraints(["accuracy >= 0.98"], bad, "ms", 1)
    assert broken.name == "accuracy >= 0.98"
    assert "accuracy is 0.903" in broken.reason


def test_files_changed_is_exact() -> None:
    assert broken_constraints(["files_changed <= 2"], [sample(1.0)], "ms", 3)
    assert not broken_constraints(["files_changed <= 2"], [sample(1.0)], "ms", 2)


def test_a_declared_sub_score_may_lose_its_tolerance_and_no_more() -> None:
    rule = {"accuracy": SubScoreRule(direction="higher_is_better", tolerance=0.05)}
    assert broken_sub_scores(rule, [pair(1.0, 0.96)] * 4, 0.0) == []
    (broken,) = broken_sub_scores(rule, [pair(1.0, 0.8)] * 4, 0.0)
    assert broken.name == "accuracy"


def test_an_undeclared_sub_score_is_not_enforced() -> None:
    assert broken_sub_scores({}, [pair(1.0, 0.1)] * 4, 0.0) == []


def test_the_half_width_is_students() -> None:
    # mean 2, standard deviation 1, three values: 2.92 / sqrt(3)
    assert half_width([1.0, 2.0, 3.0]) == pytest.approx(1.6859, abs=1e-3)
    assert half_width([5.0]) == 0.0
