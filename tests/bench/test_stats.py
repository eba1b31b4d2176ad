from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfimprove.bench.stats import better, mean, median, relative_gain, spread

finite = st.floats(allow_nan=False, allow_infinity=False)
usual = st.floats(min_value=1e-6, max_value=1e6)


@given(st.lists(finite, min_size=1, max_size=9))
def test_median_and_mean_lie_within_the_values(values: list[float]):
    assert min(values) <= median(values) <= max(values)
    assert math.isfinite(mean(values))


@given(st.lists(usual, min_size=1, max_size=9))
def test_they_agree_with_the_standard_library(values: list[float]):
    assert median(values) == pytest.approx(statistics.median(values), rel=1e-12)
    assert mean(values) == pytest.approx(statistics.fmean(values), rel=1e-12)


@given(finite, finite)
def test_a_gain_is_finite_and_has_the_sign_of_better(before: float, after: float):
    for direction in ("higher_is_better", "lower_is_better"):
        gain = relative_gain(before, after, direction)
        assert math.isfinite(gain)
        if gain > 0:
            assert better(before, after, direction)
        if not better(before, after, direction):
            assert gain <= 0


def test_a_gain_is_a_share_except_near_zero():
    assert relative_gain(200, 150, "lower_is_better") == pytest.approx(0.25)
    assert relative_gain(200, 150, "higher_is_better") == pytest.approx(-0.25)
    assert relative_gain(-2, -1, "higher_is_better") == pytest.approx(0.5)
    assert relative_gain(0, 3, "higher_is_better") == 3
    assert relative_gain(1e-12, 3, "lower_is_better") == pytest.approx(-3)


def test_spread_and_empty():
    assert spread([9, 10, 12]) == pytest.approx(0.3)
    assert spread([0.0, 0.0]) == 0
    for function in (mean, median):
        with pytest.raises(ValueError, match="no values"):
            function([])
