from __future__ import annotations

from datetime import UTC, datetime

import pytest

from selfimprove.contracts.significance import Estimate
from selfimprove.report import numbers


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"), (0.0, "0"), (-0.0, "0"), (142.3, "142.3"), (1234567.0, "1,234,567"),
        (0.1 + 0.2, "0.3"),
        (1234.5678, "1,234.6"), (0.00123456, "0.0012346"), (1.5e-7, "1.5e-07"), (-3.25, "-3.25"),
        (6.02e23, "6.02e+23"), (99999.96, "100,000"), (1e300, "1e+300"), (-1e-300, "-1e-300"),
    ],
)  # fmt: skip
def test_scores_have_five_digits(value, text) -> None:
    assert numbers.score(value) == text


def test_a_unit_follows_a_score_and_a_dash_has_none() -> None:
    assert numbers.score(142.3, "ms") == "142.3 ms"
    assert numbers.score(None, "ms") == "–"
    assert numbers.interval((1.0, 2.5), "ms") == "1 to 2.5 ms"
    assert numbers.interval(None) == ""


@pytest.mark.parametrize(
    ("before", "after", "direction", "words"),
    [
        (100.0, 90.0, "lower_is_better", "10% better"),
        (100.0, 90.0, "higher_is_better", "10% worse"),
        (90.0, 100.0, "higher_is_better", "11.1% better"),
        (-10.0, -5.0, "higher_is_better", "50% better"),
        (5.0, 5.0, "lower_is_better", "unchanged"),
        (0.0, 5.0, "higher_is_better", "5 better"),
        (0.0, 5.0, "lower_is_better", "5 worse"),
        (1.0, 101.0, "higher_is_better", "10,000% better"),
        (100.0, 99.9999, "lower_is_better", "0.0001% better"),
        (None, 5.0, "lower_is_better", "–"),
        (5.0, None, "lower_is_better", "–"),
    ],
)
def test_gains_are_told_in_the_sense_of_the_direction(before, after, direction, words) -> None:
    assert numbers.gain_in_words(before, after, direction) == words


def test_a_gain_from_zero_has_no_share() -> None:
    assert numbers.gain(0.0, 5.0, "higher_is_better") is None
    assert numbers.gain(4.0, 5.0, "higher_is_better") == 0.25


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.04, "0.0 s"), (9.94, "9.9 s"), (12.4, "12 s"), (59.7, "1 min 00 s"),
        (125, "2 min 05 s"), (3599.6, "1 h 00 min"), (4320, "1 h 12 min"), (-3, "0.0 s"),
    ],
)  # fmt: skip
def test_durations(seconds, text) -> None:
    assert numbers.duration(seconds) == text


def test_money_and_counts() -> None:
    assert [numbers.money(x) for x in (0, 0.004, 0.42, 1234.5)] == [
        "$0.00", "$0.0040", "$0.42", "$1,234.50"
    ]  # fmt: skip
    assert [numbers.count(n, "win") for n in (0, 1, 2000)] == ["0 wins", "1 win", "2,000 wins"]


def test_since_never_goes_backwards() -> None:
    now = datetime(2026, 1, 1, 0, 0, 10, tzinfo=UTC)
    assert numbers.since("2026-01-01T00:00:00.000Z", now) == 10
    assert numbers.since("2026-01-01T00:00:20.000Z", now) == 0


def test_a_gain_around_zero_is_told_in_the_scores_own_unit() -> None:
    found = Estimate(
        scale="difference", pairs=8, level=0.95, gain=-101.0, low=-104.0, high=-98.0,
        score=1.0, score_low=0.97, score_high=1.03, before=-0.01,
    )  # fmt: skip
    assert numbers.estimated(found) == "-1.01 [-1.04, -0.98]"
    assert numbers.estimated_in_words(found) == "1.01 worse [-1.04, -0.98]"
    share = found.model_copy(update={"scale": "ratio", "gain": 0.25, "low": 0.2, "high": 0.3})
    assert numbers.estimated(share) == "25% [20%, 30%]"
    assert numbers.estimated_in_words(share) == "25% better [20%, 30%]"
