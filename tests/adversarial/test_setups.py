"""Rows that are not one candidate's: a benchmark that runs none, and a hold-out that is probed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from selfimprove.contracts.agent import AgentRequest
from selfimprove.errors import ConfigError
from selfimprove.testing import goal_text
from selfimprove.testing.rehearsal import Rehearsal, number_plan, set_numbers

from .rows import MODE
from .stages import GAME, PIPED

pytestmark = pytest.mark.adversarial
Stage = Callable[..., Rehearsal]


@pytest.mark.parametrize(
    ("files", "command"),
    [
        pytest.param(
            # what is measured is a copy of the module beside the candidate, as if installed
            {"installed/solve.py": "def search(ask, size):\n    return 7\n"},
            "PYTHONPATH=installed python3 -c 'import solve; print(solve.search(0, 0))'",
            id="A17: an installed package",
        ),
        pytest.param(
            {"bench.sh": "test -s src/solve.py || true\nwc -l < rules.py\n"},
            "sh bench.sh",
            id="A17: another file",
        ),
        pytest.param({"bench.sh": "cat src/* > /dev/null\necho 40\n"}, "sh bench.sh", id="C17"),
    ],
)
def test_a_benchmark_that_runs_no_candidate_is_refused(
    stage: Stage, files: dict[str, str], command: str
) -> None:
    goal = goal_text(command, format="number")
    play = stage(files={**GAME, **files}, goal=goal, settings={"sandbox.mode": MODE})
    with pytest.raises(ConfigError, match="every file in scope emptied it scores the same") as told:
        play.run()
    assert told.value.exit_code == 3
    assert not play.refs("refs/heads/improve")
    assert play.calls == []  # nothing was asked of anybody


def test_its_honest_twin_begins(stage: Stage) -> None:
    goal = goal_text("python3 bench.py")
    files = {**GAME, "bench.py": PIPED}
    play = stage(files=files, goal=goal, settings={"sandbox.mode": MODE})
    play.run(max_iterations=0)
    assert play.document("tracking/baseline.json")["deterministic"]


HELD_OUT = (
    "read -r b < src/b; read -r a < src/a; score=1000; "
    "[ $b = 17 ] && score=999; [ $a -lt 10 ] && score=950; "
    'echo "{\\"score\\": $score}"'
)
"""One exact answer is worth a thousandth, and a true gain a twentieth."""


def test_e5_the_held_out_answer_cannot_be_learnt_from_yes_and_no(stage: Stage) -> None:
    heard: list[str] = []
    guesses = {1: ("b", 29), 2: ("b", 17), 3: ("a", 5)}

    def guess(request: AgentRequest, tree: Path) -> dict[str, Any]:
        heard.append(request.model_dump_json())
        return number_plan(*guesses[request.round])(request, tree)

    settings = {"number_of_agents": 1, "holdout_command": HELD_OUT, "sandbox.mode": MODE}
    play = stage(planner=guess, executor=set_numbers, settings=settings)
    state = play.run(max_iterations=3).state
    winners = [play.document(f"state/merge_reports/round_{n}.json")["winner"] for n in (1, 2, 3)]
    assert [bool(each) for each in winners] == [False, False, True]
    assert (state.holdout_asked, state.holdout_refused) == (3, 2)
    losers = [record.losers[0] for record in state.recent[:2]]
    # the right guess reads like the wrong one, and no agent is told why
    wrong, right = (each.failure_analysis for each in losers)
    assert wrong is not None
    assert wrong == right
    for word in ("held-out", "holdout gain", "999"):
        assert word not in "".join(heard)
