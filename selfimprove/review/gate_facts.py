"""What a gate decides on, and what an expression of the project's own may speak of; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from selfimprove.contracts.critique import CriticReply, RuleVerdict
from selfimprove.contracts.plan import ArchitectReview, Plan
from selfimprove.review import own_rules
from selfimprove.review.critique import issues, panel_score
from selfimprove.review.own_rules import plan_facts


@dataclass(frozen=True)
class Case:
    """A plan that the rules let pass, and what its reviewers said."""

    plan: Plan
    critiques: Sequence[CriticReply] = ()
    architect: ArchitectReview | None = None
    """None where no architect answered."""
    turn: int = 1
    """Which review of it this is in its planning; the first is 1."""
    word: RuleVerdict | None = None
    """What `gate.command` said."""
    experiments: int = 0
    """Plans of this round that go on as experiments already."""


def facts(case: Case) -> dict[str, Any]:
    """What `gate.expression` may speak of; what a plan does not say is left out."""
    scores = [reply.score for reply in case.critiques]
    return {
        "score": panel_score(case.critiques),
        "lowest": min(scores, default=0.0),
        "highest": max(scores, default=0.0),
        "scores": scores,
        "critics": float(len(scores)),
        "issues": float(len(issues(case.critiques))),
        "turn": float(case.turn),
        "architect": case.architect.verdict if case.architect else "",
        **plan_facts(case.plan),
    }


SAMPLE: dict[str, Any] = {
    **dict.fromkeys(("score", "lowest", "highest"), 0.5),
    **dict.fromkeys(("critics", "issues", "turn"), 1.0),
    "architect": "x",
    "scores": [0.5],
    **own_rules.SAMPLE,
}
"""A value of each kind for everything that `facts` may name."""
