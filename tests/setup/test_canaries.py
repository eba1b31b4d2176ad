"""The canaries on real targets: what a benchmark that can be fooled is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from selfimprove.app.doctor import _canaries
from selfimprove.testing import goal_text
from selfimprove.testing.rehearsal import Rehearsal

Stage = Callable[..., Rehearsal]
IN_PROCESS = (
    'import json, sys; sys.path.insert(0, "src"); import work; '
    'print(json.dumps({"score": work.TOTAL}))'
)
MODULE = {"src/work.py": "TOTAL = 90\nif __name__ == '__main__':\n    print('worked')\n"}


def grades(play: Rehearsal) -> dict[str, tuple[str, str]]:
    """Each canary's grade and words."""
    return {each.name: (each.grade, each.text) for each in _canaries(play.site())}


def test_a_benchmark_that_measures_something_else_is_found_out(stage: Stage) -> None:
    play = stage(goal=goal_text("echo '{\"score\": 42}'"))
    found = grades(play)
    grade, text = found["the benchmark runs the candidate"]
    assert grade == "problem"
    assert "scores the same (42)" in text
    assert found["a change that does nothing"][0] == "ok"
    assert play.refs("refs/heads/improve", "refs/heads/experiment") == {}


@pytest.mark.long
@pytest.mark.parametrize(
    ("command", "grade"),
    [
        # in the benchmark's own process, whoever prints and leaves has the last word
        (f"python3 -c '{IN_PROCESS}'", "problem"),
        # two scores are no score
        ("python3 src/work.py; echo '{\"score\": 90}'", "ok"),
        ('n=$(python3 src/work.py | wc -c); echo "{\\"score\\": $n}"', "ok"),
    ],
)
def test_a_score_that_the_candidate_can_print_is_a_problem(
    stage: Stage, command: str, grade: str
) -> None:
    play = stage(files=MODULE, goal=goal_text(command))
    found = grades(play)
    assert found["a spoofed score line"][0] == grade
    assert found["a score of Infinity"][0] == "ok"  # never believed


def test_an_honest_benchmark_passes_them_all(stage: Stage) -> None:
    found: dict[str, Any] = grades(stage())
    assert found["the benchmark runs the candidate"][0] == "ok"
    assert "problem" not in {grade for grade, _ in found.values()}
