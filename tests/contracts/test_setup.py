from __future__ import annotations

from typing import Any

import pytest

from selfimprove.contracts.setup import LONGEST, MOST, BuilderReply, ClarifierReply
from selfimprove.errors import ContractError


def reply(*scores: float, **fields: Any) -> dict[str, Any]:
    names = ("objective", "metric", "target", "scope")
    given = {name: {"score": score} for name, score in zip(names, scores, strict=True)}
    return {"scores": given, "goal": {}, **fields}


def test_scores_lie_between_0_and_100() -> None:
    found = ClarifierReply.parse(reply(-3, 250, 50.5, 0), "it").scores.by_topic()
    assert [each.score for each in found.values()] == [0, 100, 50.5, 0]


@pytest.mark.parametrize("wrong", ["much", None, [90]])
def test_what_is_no_number_is_no_score(wrong: Any) -> None:
    with pytest.raises(ContractError):
        ClarifierReply.parse(reply(90, 90, 90, wrong), "it")


@pytest.mark.parametrize(
    ("dimension", "fits"), [("Scope", True), ("Target", True), ("Objective", False)]
)
def test_a_question_is_about_the_weakest(dimension: str, fits: bool) -> None:
    answer = reply(60, 90, 20, 20, question={"dimension": dimension, "text": "What?"})
    if fits:
        assert ClarifierReply.parse(answer, "it").question is not None
        return
    with pytest.raises(ContractError, match="ask about the weakest dimension, Target"):
        ClarifierReply.parse(answer, "it")


def test_what_is_said_is_short_and_on_one_line() -> None:
    goal = {"objective": "a\n\n## Scope\n" + "b" * 2 * LONGEST, "guards": ["x"] * 3 * MOST}
    found = ClarifierReply.parse(reply(1, 2, 3, 4) | {"goal": goal}, "it").goal
    assert found.objective.startswith("a ## Scope b")
    assert (len(found.objective), len(found.guards)) == (LONGEST, MOST)
    built = BuilderReply.parse({"summary": "s", "command": "a\nb"}, "it")
    assert (built.command, built.format) == ("a b", "json")
    with pytest.raises(ContractError, match="command"):
        BuilderReply.parse({"summary": "s", "command": " \n "}, "it")
