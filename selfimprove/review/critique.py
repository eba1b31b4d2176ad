"""Turns verdicts, critics' scores and the architect's advice into what stands in a plan."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from selfimprove.contracts.critique import CriticReply, RuleVerdict
from selfimprove.contracts.plan import ArchitectReview, CriticReview, PassFail, Plan

ROUNDING = 1e-9
"""So that a mean of 0.9, 0.9 and 0.9 is not below 0.9."""


def malformed(reason: str) -> CriticReply:
    """Give what stands for a critique that cannot be read: no confidence, and one issue."""
    return CriticReply(score=0.0, issues=[f"malformed critique: {reason}"], summary="")


def panel_score(replies: Sequence[CriticReply]) -> float:
    """Give the panel's mean; 0 where nobody answered."""
    return sum(reply.score for reply in replies) / len(replies) if replies else 0.0


def panel_verdict(replies: Sequence[CriticReply], critics: int, threshold: float) -> RuleVerdict:
    """Judge a plan by its critics; one that is missing refuses it, none wanted passes it."""
    if critics == 0:
        return RuleVerdict(rule="critics", passed=True)
    if len(replies) < critics:
        return RuleVerdict(
            rule="critics",
            passed=False,
            code="critic_missing",
            message=f"{critics - len(replies)} of {critics} critics did not answer",
            remedy="see their logs; the plan can be proposed again",
        )
    score = panel_score(replies)
    if score >= threshold - ROUNDING:
        return RuleVerdict(rule="critics", passed=True, message=f"the critics give {score:.2f}")
    return RuleVerdict(
        rule="critics",
        passed=False,
        code="low_score",
        message=f"the critics give {score:.2f}, {threshold:g} is wanted",
        remedy="answer their issues: " + ("; ".join(issues(replies)[:5]) or "they named none"),
    )


def issues(replies: Iterable[CriticReply]) -> list[str]:
    """Give every issue once, in the order they were raised."""
    return list(dict.fromkeys(issue for reply in replies for issue in reply.issues))


def failures(verdicts: Iterable[RuleVerdict]) -> list[RuleVerdict]:
    """Give the verdicts that refuse."""
    return [verdict for verdict in verdicts if not verdict.passed]


def critic_review(verdicts: Sequence[RuleVerdict]) -> CriticReview:
    """Word the verdicts as the plan's `critic_review`."""
    failed = failures(verdicts)
    rules = {verdict.rule for verdict in failed}

    def said(rule: str) -> PassFail:
        return "fail" if rule in rules else "pass"

    return CriticReview(
        h001_hypothesis_count=said("h001"),
        h002_family_streak=said("h002"),
        h003_intra_round_diversity=said("h003"),
        schema_valid=said("schema"),
        history_aware=said("history"),
        verdict="rejected" if failed else "approved",
        rejection_reason="; ".join(map(worded, failed)) or None,
    )


def worded(verdict: RuleVerdict) -> str:
    """Give one refusal as a line: code, what is wrong, what would mend it."""
    remedy = f" ({verdict.remedy})" if verdict.remedy else ""
    return f"{verdict.code}: {verdict.message}{remedy}"


def architect_review(
    answer: ArchitectReview | None, verdicts: Sequence[RuleVerdict], advice: Sequence[str]
) -> ArchitectReview:
    """Join the architect's answer with what code knows; it is advice and refuses nothing.

    Where no architect answered, code alone speaks. Its `reject` means that code proved a target
    to be missing, sealed or outside.
    """
    proved = [verdict.message for verdict in failures(verdicts) if verdict.rule == "scope"]
    said = answer or ArchitectReview(verdict="approve")
    concerns = list(dict.fromkeys([*said.structural_concerns, *proved, *advice]))
    return said.model_copy(
        update={
            "verdict": "reject" if proved else said.verdict,
            "structural_concerns": concerns,
        }
    )


def reviewed(
    plan: Plan, verdicts: Sequence[RuleVerdict], architect: ArchitectReview | None = None
) -> Plan:
    """Write the verdicts into a plan."""
    review = critic_review(verdicts)
    return plan.model_copy(
        update={
            "critic_approved": review.verdict == "approved",
            "critic_review": review,
            "architect_review": architect if architect is not None else plan.architect_review,
        }
    )


def feedback(
    verdicts: Sequence[RuleVerdict],
    replies: Sequence[CriticReply] = (),
    architect: ArchitectReview | None = None,
) -> dict[str, Any]:
    """Give what a planner is told before it revises."""
    told: dict[str, Any] = {
        "refusals": [
            {"code": verdict.code, "message": verdict.message, "remedy": verdict.remedy}
            for verdict in failures(verdicts)
        ],
        "issues": issues(replies),
    }
    if replies:
        told["score"] = round(panel_score(replies), 4)
    if architect is not None:
        told["architect"] = architect.document()
    return told
