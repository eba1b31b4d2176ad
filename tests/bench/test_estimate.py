from __future__ import annotations

import json
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfimprove.bench.effects import in_scores
from selfimprove.bench.estimate import (
    closing,
    deviation,
    interval,
    noise,
    pairs_in,
    quantile,
    smallest_gain,
)
from selfimprove.contracts.benchmark import Pair, Sample
from selfimprove.contracts.significance import Estimate


def pairs(figures) -> list[Pair]:
    return [
        Pair(
            incumbent=Sample(score=before, duration_s=1),
            candidate=Sample(score=after, duration_s=1),
            candidate_first=False,
        )
        for before, after in figures
    ]


@pytest.mark.parametrize(
    ("alpha", "freedom", "table"),
    [
        (0.05, 1, 12.706),
        (0.05, 2, 4.303),
        (0.05, 3, 3.182),
        (0.05, 7, 2.365),
        (0.01, 7, 3.499),
        (0.05, 30, 2.042),
        (0.1, 31, 1.696),
    ],
)
def test_students_quantiles_are_those_of_the_tables(alpha, freedom, table):
    assert quantile(alpha, freedom) == pytest.approx(table, abs=5e-4)


def test_a_steady_gain_is_reported_as_it_is():
    found = closing(pairs([(100.0, 110.0)] * 8), "higher_is_better")
    assert found.gain == pytest.approx(0.1)
    assert found.low == pytest.approx(found.high)
    assert found.score == pytest.approx(110)
    lower = closing(pairs([(100.0, 80.0)] * 8), "lower_is_better")
    assert lower.gain == pytest.approx(0.2)
    assert closing(pairs([(-4.0, -2.0)]), "higher_is_better").gain == pytest.approx(0.5)


def test_a_gain_on_scores_around_zero_is_a_difference_and_one_on_positive_scores_a_share():
    found = closing(pairs([(-0.01, 1.0), (0.01, 1.02)]), "higher_is_better")
    assert found.scale == "difference"
    assert in_scores(found) == pytest.approx((1.01, 1.01, 1.01))
    below = closing(pairs([(-4.0, -2.0), (-4.0, -1.0)]), "higher_is_better")
    told = in_scores(below)
    assert told is not None
    assert told[0] == pytest.approx(2.5)
    shares = closing(pairs([(100.0, 110.0)] * 2), "higher_is_better")
    assert in_scores(shares) is None
    assert "before" not in shares.document()


def test_a_single_pair_has_no_width_and_no_pair_no_estimate():
    found = closing(pairs([(10.0, 12.0)]), "higher_is_better")
    assert (found.low, found.high) == (found.gain, found.gain)
    with pytest.raises(ValueError, match="no closing pairs"):
        closing([], "higher_is_better")


any_score = st.floats(min_value=-1e300, max_value=1e300)


@given(st.lists(st.tuples(any_score, any_score), min_size=1, max_size=9), st.booleans())
def test_estimates_are_ordered_finite_and_plain(figures, up):
    found = closing(pairs(figures), "higher_is_better" if up else "lower_is_better")
    assert found.low <= found.gain <= found.high
    assert found.score_low <= found.score <= found.score_high
    assert Estimate.parse(json.loads(json.dumps(found.document(), allow_nan=False)), "") == found


def test_the_interval_holds_the_truth_as_often_as_it_says():
    rng, held, errors = random.Random(5), 0, []
    for _ in range(400):
        drawn = [(rng.gauss(100, 3), 1.05 * rng.gauss(100, 3)) for _ in range(8)]
        found = closing(pairs(drawn), "higher_is_better")
        held += found.low <= 0.05 <= found.high
        errors.append(found.gain - 0.05)
    assert held >= 365
    assert abs(math.fsum(errors) / 400) < 0.1 * 0.03


def test_spread_and_interval_of_plain_numbers():
    assert deviation([1.0, 3.0]) == pytest.approx(math.sqrt(2))
    assert deviation([5.0]) == 0.0
    assert interval([1.0, 3.0], 0.05)[0] == 2.0
    spread, scale = noise([100.0, 103.0, 97.0])
    assert (round(spread, 3), scale) == (0.03, "ratio")
    assert noise([0.0, 2.0])[1] == "difference"


def test_more_pairs_prove_smaller_gains_and_too_few_none():
    gains = [smallest_gain(0.03, most) for most in range(5, 41)]
    assert all(gain is not None for gain in gains)
    assert gains[27] == pytest.approx(0.94 * 0.03, rel=0.1)  # 32 pairs, as simulated
    assert gains == sorted(gains, reverse=True)
    assert smallest_gain(0.03, 4) is None
    assert smallest_gain(0.0, 32) == 0.0
    strict = smallest_gain(0.03, 32, alpha=0.01)
    assert strict is not None
    assert strict > gains[27]


def test_the_time_there_is_sets_the_pairs():
    assert pairs_in(None, 5) == 32
    assert pairs_in(3600, 10) == 18
    assert pairs_in(60, 10) == 5
    assert pairs_in(10**6, 1) == 32
