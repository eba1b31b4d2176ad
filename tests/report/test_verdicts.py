"""What does not count is told wherever a person looks, and to the planners that follow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from selfimprove.cli import main
from selfimprove.contracts.agent import AgentRequest
from selfimprove.report.charts import _outcome
from selfimprove.report.sources import load_history
from selfimprove.report.summary import Sources, render
from selfimprove.testing.rehearsal import Rehearsal, number_plan, set_numbers
from selfimprove.testing.scripts import position

Stage = Callable[..., Rehearsal]


def plant(request: AgentRequest, tree: Path) -> dict[str, Any]:
    """Carry the plan out; the first executor of a round puts a test configuration beside it."""
    answer = set_numbers(request, tree)
    if position(request.agent_id) == 0 and request.round == 1:
        (tree / "src/conftest.py").write_text("x = 1\n")
    return answer


@pytest.mark.long
def test_a_disqualified_and_a_quarantined_candidate_are_told(
    stage: Stage, capfd: pytest.CaptureFixture[str]
) -> None:
    def said(play: Rehearsal, command: str) -> str:
        capfd.readouterr()
        assert main([command, str(play.repository.path)]) == 0
        return capfd.readouterr().out

    prompts: list[str] = []

    def plan(request: AgentRequest, tree: Path) -> dict[str, Any]:
        prompts.append(request.prompt)
        place = position(request.agent_id)
        return number_plan("ab"[place], -5000 if place else 10 + request.round)(request, tree)

    play = stage(planner=plan, executor=plant, settings={"score_bound": 20})
    state = play.run(max_iterations=2).state
    cheat = "disqualified, sealed_file_planted: src/conftest.py"
    bound = "in quarantine until you have looked at it: -4940 is better than score_bound 20"
    status = said(play, "status")
    for words in (cheat, bound):
        assert f"set aside   round_1_planner_{'ab'[words == bound]}: {words}" in status
    history = said(play, "history")
    assert cheat[:30] in history
    assert bound[:30] in history
    summary = render(Sources(state=state, target=play.repository.path))
    assert "3 candidates of the last rounds did not count" in summary
    assert "3 disqualified" in _outcome(load_history(play.layout))
    later = [prompt for prompt in prompts if "Round 2" in prompt]
    assert later
    for prompt in later:
        assert "these moved the number, not the program" in prompt
        assert "round_1_planner_a: sealed_file_planted: src/conftest.py" in prompt
        assert "round_1_planner_b: beyond_bound" in prompt
