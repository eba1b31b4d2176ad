from __future__ import annotations

from dataclasses import replace

import pytest

from selfimprove.setup.clarity import CLEAR, clarity, target_clarity
from selfimprove.setup.draft import Draft

CLEAN = Draft(
    objective="Reduce the p95 latency of `orders.price` while keeping its results unchanged",
    metric="p95_ms",
    direction="lower",
    target="< 120 ms",
    in_scope=("orders/",),
    out_of_scope=("orders/legacy/",),
    command="python bench.py",
)


def scores(draft: Draft, files: int = 3) -> dict[str, int]:
    return {row.topic: row.score for row in clarity(draft, lambda patterns: files)}


def test_a_clear_goal_scores_high_and_an_empty_one_nothing() -> None:
    assert scores(CLEAN) == {"Objective": 100, "Metric": 100, "Target": 80, "Scope": 100}
    assert scores(Draft()) == {"Objective": 0, "Metric": 0, "Target": CLEAR, "Scope": 0}
    assert all(row.question and row.reason for row in clarity(Draft()))


@pytest.mark.parametrize(
    ("change", "topic"),
    [
        ({"objective": "make it better"}, "Objective"),
        ({"objective": "orders"}, "Objective"),
        ({"direction": "", "target": "none", "command": ""}, "Metric"),
        ({"target": "fast"}, "Target"),
        ({"target": "> 120"}, "Target"),
        ({"in_scope": ("**",), "out_of_scope": ()}, "Scope"),
        ({"in_scope": ()}, "Scope"),
    ],
)
def test_what_is_unclear_is_asked(change: dict[str, object], topic: str) -> None:
    row = next(row for row in clarity(replace(CLEAN, **change)) if row.topic == topic)  # type: ignore[arg-type]
    assert row.score < CLEAR
    assert row.question.endswith((")", "?"))


def test_patterns_that_match_nothing() -> None:
    assert scores(CLEAN, files=0)["Scope"] < CLEAR


def test_the_target_against_the_baseline() -> None:
    assert target_clarity(CLEAN, 300).score == 100
    assert target_clarity(CLEAN, 100).score < CLEAR
