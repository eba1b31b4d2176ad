from __future__ import annotations

import time
from typing import Any

from selfimprove.review.lessons import lessons, nearest
from selfimprove.testing import a_plan


def row(number: int, outcome: str, family: str = "data", **fields: Any) -> dict[str, Any]:
    plan = a_plan("src/a.py", f"set LIMIT to {number} and keep everything else as it is", family)
    facts = {"plan_id": f"round_{number}_planner_a", "round": number, "outcome": outcome}
    return plan | facts | {"score": 90.0, "incumbent_score": 100.0} | fields


def test_each_family_comes_to_one_record() -> None:
    rows = [
        row(1, "won", score=95.0),
        row(2, "lost"),
        row(3, "won", score=80.0, family="architecture"),
        row(4, "won", score=60.0),
        row(5, "rejected"),
        row(6, "error", score=None),
    ]
    first, second = lessons(rows, "lower_is_better")
    assert (first["family"], first["tried"], first["won"]) == ("data", 4, 2)
    assert [win["gain"] for win in first["best_wins"]] == [40.0, 5.0]
    assert [end["outcome"] for end in first["latest_dead_ends"]] == ["error", "lost"]
    assert (second["family"], second["tried"]) == ("architecture", 1)
    assert lessons(rows, "higher_is_better")[0]["best_wins"][0]["gain"] == -5.0
    assert lessons([], "lower_is_better") == []


def test_lessons_do_not_grow_with_the_rounds() -> None:
    def size(rounds: int) -> int:
        outcomes = ("won", "lost", "error")
        return len(
            str(lessons([row(k, outcomes[k % 3]) for k in range(rounds)], "lower_is_better"))
        )

    assert size(1000) <= 1.05 * size(20)


def test_the_likest_dead_ends_are_told_and_nothing_else() -> None:
    rows = [row(1, "lost"), row(2, "won"), row(3, "runner_up"), row(4, "regression")]
    far = a_plan("src/b.py", "compile the pattern once, at the top of the module")
    same = a_plan("src/a.py", "set LIMIT to 1 and keep everything else as it is")
    found = nearest(same, rows)
    assert [one["plan_id"] for one in found] == ["round_1_planner_a", "round_4_planner_a"]
    assert found[0]["alike"] == 1.0
    assert found[0]["alike"] > found[1]["alike"]
    assert nearest(far, rows) == []


def test_many_attempts_are_looked_through_quickly() -> None:
    rows = [row(k, "lost") for k in range(3000)]
    plan = a_plan("src/a.py", "set LIMIT to 7 and keep everything else as it is")
    nearest(plan, rows)
    began = time.process_time()
    assert len(nearest(plan, rows)) == 5
    lessons(rows, "lower_is_better")
    assert time.process_time() - began < 0.2
