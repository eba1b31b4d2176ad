"""A person's ideas: consumed once, recorded, and what became of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from selfimprove.cli import main
from selfimprove.testing.rehearsal import Rehearsal, number_plan

Stage = Callable[..., Rehearsal]
ONE = {"number_of_agents": 1, "quality_threshold": 0.0}


def idea(play: Rehearsal, text: str) -> None:
    assert main(["idea", text, str(play.repository.path)]) == 0


def test_an_idea_is_consumed_once_and_its_fate_told(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    shown: dict[int, Any] = {}

    def plan(request: Any, tree: Path) -> dict[str, Any]:
        shown[request.round] = request.context["ideas"]
        return number_plan("a", 30 - request.round)(request, tree)

    play = stage(planner=plan, settings=ONE)
    play.run(max_iterations=0)
    for text in ("set the number to 29", "paint the shed"):
        idea(play, text)
    play.run(max_iterations=2)
    assert shown == {1: ["set the number to 29", "paint the shed"], 2: []}
    consumed = [
        line["payload"]["ideas"]
        for number in (1, 2)
        for line in play.lines(number)
        if line["payload"].get("event") == "ideas_consumed"
    ]
    assert consumed == [["set the number to 29", "paint the shed"]]
    assert "29" not in play.layout.ideas.read_text()
    assert play.document("state/iteration_state.json")["user_ideas_consumed"] == []
    capsys.readouterr()
    main(["status", str(play.repository.path)])
    told = capsys.readouterr().out
    assert "set the number to 29: planned as round_1_planner_a, merged" in told
    assert "paint the shed: consumed, not planned" in told


@pytest.mark.long
def test_the_round_that_consumes_an_idea_says_so(stage: Stage) -> None:
    play = stage(settings=ONE)
    play.run(max_iterations=0)
    idea(play, "paint the shed")
    play.run(max_iterations=1)
    found = play.document("state/iteration_state.json")
    assert found["user_ideas_consumed"] == ["paint the shed"]


@pytest.mark.long
def test_an_idea_that_comes_during_a_round_waits_for_the_next(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    play = stage(settings=ONE)

    def late(envelope: Any, _state: Any) -> None:
        if envelope.payload.get("event") == "families_assigned" and play.calls:
            idea(play, "paint the shed")

    play.run([late], max_iterations=1)
    assert play.document("state/iteration_state.json")["user_ideas_consumed"] == []
    main(["status", str(play.repository.path)])
    assert "paint the shed: queued" in capsys.readouterr().out
    play.run(max_iterations=2)
    assert play.document("state/iteration_state.json")["user_ideas_consumed"] == ["paint the shed"]
