"""Scores that must not count."""

from __future__ import annotations

from selfimprove.bench.verdicts import beyond, left_out


def test_a_bound_holds_in_the_metrics_direction() -> None:
    assert beyond(5, None, True) is None
    assert beyond(5, 5, True) is None
    assert beyond(4.9, 5, True) is not None
    assert beyond(5.1, 5, True) is None
    assert beyond(5.1, 5, False) is not None


def test_tests_may_neither_vanish_nor_be_skipped() -> None:
    baseline = {"tests": 4.0, "skipped": 1.0}
    assert left_out({"tests": 4, "skipped": 1}, baseline) is None
    assert left_out({"tests": 5, "skipped": 0}, baseline) is None
    assert left_out({"tests": 3, "skipped": 1}, baseline) is not None
    assert left_out({"tests": 4, "skipped": 2}, baseline) is not None
    assert left_out({"score": 1}, {}) is None
