"""What reviewers answer: a critic's score, rule verdicts, the quality report of a round."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from selfimprove.contracts.base import Record


class CriticReply(Record):
    """A critic agent's answer."""

    score: float = Field(ge=0, le=1)
    """Confidence that the plan is worth carrying out as it stands."""
    issues: list[str] = Field(default_factory=list)
    summary: str = ""


class RuleVerdict(Record):
    """What one rule in code says of one plan."""

    rule: str
    """`h001`, `h002`, `h003`, `schema`, `scope`, `history`, …"""
    passed: bool
    code: str = ""
    """Reason code of a refusal: `family_streak`, `sealed_target`, …"""
    message: str = ""
    remedy: str = ""


Level = Literal["families", "files", "approach"]
"""How far a refinement goes: other families, then other files, then another approach."""


class Refinement(Record):
    """What planners are told before they plan again."""

    additions: ClassVar[frozenset[str]] = frozenset(
        {
            "level",
            "cause",
            "families_to_avoid",
            "files_in_scope",
            "approaches_to_avoid",
            "advice",
            "earlier",
        }
    )

    reason: str
    level: Level | None = None
    """None in a record of before there were levels."""
    cause: str = ""
    """The reason code of most refusals: with the level, what it is remembered by."""
    families_to_avoid: list[str] = Field(default_factory=list)
    files_in_scope: list[str] = Field(default_factory=list)
    """Where to plan; from the level `files` on without those that refused plans wanted to change,
    where there are others."""
    approaches_to_avoid: list[str] = Field(default_factory=list)
    """Hypotheses of the refused plans."""
    advice: list[str] = Field(default_factory=list)
    earlier: list[str] = Field(default_factory=list)
    """What refinements for the same cause came to so far, by level."""


class Remembered(Record):
    """How often a kind of refinement was tried, and how often more plans passed after it."""

    tried: int = 0
    helped: int = 0


def refinement_kind(cause: str, level: Level) -> str:
    """What a refinement is remembered by: `out_of_scope/files`."""
    return f"{cause}/{level}"


class QualityReport(Record):
    """How many plans of a round passed review, and why the others did not."""

    additions: ClassVar[frozenset[str]] = frozenset(
        {"threshold", "suggested_refinement", "not_retried"}
    )

    total: int
    verified: int
    rejected: int
    rejection_breakdown: dict[str, int]
    """Reason code -> number of plans."""
    quality_score: float = Field(ge=0, le=1)
    """verified / total; 0 where there was no plan."""
    meets_threshold: bool
    threshold: float | None = None
    """What the share was held to, where families have thresholds of their own."""
    suggested_refinement: Refinement | None = None
    not_retried: str = ""
    """Why planning is not sent back all the same: what it would cost, and what is left."""


class Gate(Record):
    """A gate's decision on one plan or candidate."""

    gate_policy: str
    decision: str
    """`commit`, `retry`, `branch` or `reject`."""
    reason: str = ""
    next_action: dict[str, Any] = Field(default_factory=dict)
