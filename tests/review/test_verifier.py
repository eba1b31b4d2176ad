"""The verifier: verdicts in code on briefs, plans and changes, and what they come to."""

from __future__ import annotations

from typing import Any

import pytest

from selfimprove.contracts.base import FAMILIES
from selfimprove.contracts.brief import Idea, ResearchBrief
from selfimprove.contracts.critique import CriticReply
from selfimprove.contracts.verify import VerifyTotals
from selfimprove.review.rules import review_plan
from selfimprove.review.verifier import (
    smallest_patch,
    steps_missed,
    verify_brief,
    verify_change,
    verify_plan,
)

from .samples import context, plan

TWO = [
    {"step": 1, "file": "src/a.py", "change": "set LIMIT to 10 in scan()"},
    {"step": 2, "file": "src/b.py", "change": "read LIMIT from src/a.py"},
]


def replies(*scores: float) -> list[CriticReply]:
    return [CriticReply(score=score) for score in scores]


def brief(**fields: Any) -> ResearchBrief:
    idea = {
        "title": "Cache it", "source": "src/a.py:3", "evidence": "it is read twice",
        "approach_family": "data", "confidence": "high", "estimated_impact": "5%",
    }  # fmt: skip
    ideas = [Idea.model_validate({**idea, **fields})]
    return ResearchBrief(iteration=1, repo_analysis_summary="numbers", ideas=ideas)


def test_a_brief_is_held_against_the_taxonomy_and_its_own_evidence() -> None:
    assert verify_brief(brief(), FAMILIES).status == "pass"
    assert verify_brief(brief(), FAMILIES).score == 1.0
    bare = verify_brief(brief(evidence=" "), FAMILIES)
    assert (bare.status, bare.issues[0].kind) == ("low", "rubric")
    lost = verify_brief(brief(approach_family="magic"), FAMILIES)
    assert (lost.status, lost.score) == ("fail", 0.6667)
    assert "'magic'" in lost.issues[0].message
    twice = brief().model_copy(update={"ideas": [*brief().ideas, *brief(title="CACHE it ").ideas]})
    assert verify_brief(twice, FAMILIES).status == "low"
    none = brief().model_copy(update={"ideas": []})
    assert verify_brief(none, FAMILIES).status == "low"


def test_a_plan_is_held_against_rules_rubric_and_critics() -> None:
    good, facts = plan(), context()
    verdicts = review_plan(good, facts)
    assert verify_plan(good, verdicts, replies(0.95), 0.9, {"score"}).status == "pass"
    assert verify_plan(good, verdicts, replies(0.95), 0.9, {"score"}).score == 0.9833
    assert verify_plan(good, verdicts, replies(0.6), 0.9, {"score"}).status == "low"
    assert verify_plan(good, verdicts, replies(0.2), 0.9, {"score"}).status == "fail"
    untold = verify_plan(good, verdicts, [], 0.9, {"p50"})
    assert (untold.status, untold.issues[0].message) == ("low", "'score' is not measured")
    broken = plan(target="lib/x.py")
    found = verify_plan(broken, review_plan(broken, facts), [], 0.9, set())
    assert (found.status, found.issues[0].kind) == ("fail", "consistency")
    assert found.issues[0].message.startswith("out_of_scope: ")
    strange = plan(approach_family="magic")
    found = verify_plan(strange, review_plan(strange, facts), [], 0.9, set())
    assert [issue.kind for issue in found.issues] == ["schema"]
    unclear = plan(steps=[{"step": 3, "file": "src/a.py", "change": "optimize the parser"}])
    found = verify_plan(unclear, review_plan(unclear, facts), [], 0.9, set())
    assert [(issue.kind, issue.grade, issue.step) for issue in found.issues] == [
        ("rubric", "low", 3)
    ]


def test_a_change_is_held_against_its_plan() -> None:
    both = plan(steps=TWO, target_files=["src/a.py", "src/b.py", "src/c.py"])
    assert verify_change(both, ["src/a.py", "src/b.py"], "done").status == "pass"
    half = verify_change(both, ["src/a.py"], "done")
    assert (half.status, steps_missed(half)) == ("fail", [2])
    assert "src/b.py is as it was: read LIMIT" in half.issues[0].message
    beside = verify_change(both, ["src/a.py", "src/b.py", "src/d.py"], "done")
    assert (beside.status, steps_missed(beside)) == ("fail", [])
    assert verify_change(both, ["src/a.py", "src/b.py"], " ").status == "low"
    scored = verify_change(both, ["src/a.py", "src/b.py"], "done", replies(0.5), 0.9)
    assert (scored.status, scored.score) == ("low", 0.8333)


def test_the_smallest_patch_is_the_plan_less_what_is_done() -> None:
    both = plan(steps=TWO, target_files=["src/a.py", "src/b.py", "src/c.py"])
    left = smallest_patch(both, [2])
    assert [step.step for step in left.steps] == [2]
    assert left.target_files == ["src/b.py"]
    assert (left.hypothesis, left.plan_id) == (both.hypothesis, both.plan_id)
    assert smallest_patch(both, [7]) == both


@pytest.mark.parametrize(
    ("told", "rate"),
    [
        ([("pass", 1), ("pass", 1)], 1.0),
        ([("fail", 1), ("pass", 2), ("pass", 1), ("low", 1)], 0.3333),
        ([], 0.0),
    ],
)
def test_totals_count_what_passed_the_first_time(told: list[tuple[Any, int]], rate: float) -> None:
    totals = VerifyTotals()
    for status, attempt in told:
        totals = totals.plus(status, attempt)
    assert totals.first_pass_rate == rate
    assert totals.retries == sum(attempt > 1 for _, attempt in told)
    assert totals.failed == sum(status == "fail" for status, _ in told)
