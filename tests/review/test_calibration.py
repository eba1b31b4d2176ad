"""Stated chances and expected gains, beside what came."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfimprove.review.calibration import calibrations, percents
from selfimprove.testing import a_plan


def row(number: int, outcome: str, **fields: Any) -> dict[str, Any]:
    facts = {
        "plan_id": f"round_{number}_planner_a",
        "outcome": outcome,
        "confidence": 0.5,
        "estimated_impact": "5% less",
        "score": 90.0,
        "incumbent_score": 100.0,
    }
    return a_plan("src/a.py", f"set LIMIT to {number}", "data") | facts | fields


def test_of_each_planner_and_each_family() -> None:
    rows = [
        row(1, "won", confidence=0.9),
        row(1, "lost", plan_id="round_1_planner_b", confidence=0.7, score=99.0),
        row(2, "error", confidence=0.3, score=None),
        row(3, "won", confidence=0.6, approach_family="architecture", estimated_impact="3-7%"),
    ]
    a, b, architecture, data = calibrations(rows, "lower_is_better")
    assert (a["who"], a["tried"], a["confidence"], a["won"]) == ("planner_a", 3, 0.6, 0.667)
    assert a["brier"] == pytest.approx((0.1**2 + 0.3**2 + 0.4**2) / 3, abs=0.001)
    assert (a["predicted"], a["measured"]) == ("6%", "10%")
    assert (b["who"], b["won"], b["brier"], b["measured"]) == ("planner_b", 0.0, 0.49, "1%")
    assert (architecture["who"], architecture["tried"]) == ("architecture", 1)
    assert (data["who"], data["tried"]) == ("data", 3)
    assert calibrations(rows, "higher_is_better")[1]["measured"] == "-1%"


def test_what_said_nothing_and_what_was_never_tried_count_for_nothing() -> None:
    old = row(1, "won")
    del old["confidence"]
    rows = [old, row(2, "lost", confidence=None), row(3, "rejected")]
    assert calibrations(rows, "lower_is_better") == []


@pytest.mark.parametrize("estimate", ["much faster", "5 ms", ""])
def test_an_estimate_without_a_share_predicts_none(estimate: str) -> None:
    (planner, _) = calibrations([row(1, "won", estimated_impact=estimate)], "lower_is_better")
    assert "predicted" not in planner


def test_percents() -> None:
    assert percents("about 5% to 7.5 % less, on 2 of 3 files") == [5.0, 7.5]
    assert percents("x" * 200 + "5%") == []


def test_it_does_not_grow_with_the_rounds() -> None:
    many = [row(k, ("won", "lost", "error")[k % 3]) for k in range(1000)]
    assert len(str(calibrations(many, "lower_is_better"))) <= 1.2 * len(
        str(calibrations(many[:20], "lower_is_better"))
    )


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=20))
def test_brier_is_no_less_than_the_distance_of_the_means(told: list[tuple[float, bool]]) -> None:
    rows = [row(1, "won" if won else "lost", confidence=sure) for sure, won in told]
    found = calibrations(rows, "lower_is_better")[0]
    assert 0 <= found["brier"] <= 1
    assert found["brier"] >= (found["confidence"] - found["won"]) ** 2 - 0.005


def test_what_was_asserted_counts_beside_how_sure_they_were() -> None:
    rows = [
        row(1, "won", assertions={"held": 2, "failed": 1}),
        row(2, "lost", confidence=None, assertions={"held": 0, "failed": 1}),
        row(3, "lost", confidence=None),
    ]
    (planner, _) = calibrations(rows, "lower_is_better")
    assert (planner["tried"], planner["asserted"], planner["held"]) == (2, 4, 0.5)
    assert (planner["confidence"], planner["won"]) == (0.5, 1.0)
    (alone, _) = calibrations(rows[1:], "lower_is_better")
    assert "confidence" not in alone
    assert (alone["asserted"], alone["held"]) == (1, 0.0)
    assert "asserted" not in calibrations([row(1, "won")], "lower_is_better")[0]
