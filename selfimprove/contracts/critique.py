"""What reviewers answer: a critic's score, rule verdicts, the quality report of a round."""

from __future__ import annotations

from typing import Any, ClassVar

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


class Refinement(Record):
    """What planners are told before they plan again."""

    additions: ClassVar[frozenset[str]] = frozenset(
        {"families_to_avoid", "files_in_scope", "advice"}
    )

    reason: str
    families_to_avoid: list[str] = Field(default_factory=list)
    files_in_scope: list[str] = Field(default_factory=list)
    advice: list[str] = Field(default_factory=list)


class QualityReport(Record):
    """How many plans of a round passed review, and why the others did not."""

    additions: ClassVar[frozenset[str]] = frozenset({"suggested_refinement"})

    total: int
    verified: int
    rejected: int
    rejection_breakdown: dict[str, int]
    """Reason code -> number of plans."""
    quality_score: float = Field(ge=0, le=1)
    """verified / total; 0 where there was no plan."""
    meets_threshold: bool
    suggested_refinement: Refinement | None = None


class Gate(Record):
    """A gate's decision on one plan or candidate."""

    gate_policy: str
    decision: str
    """`commit`, `retry`, `branch` or `reject`."""
    reason: str = ""
    next_action: dict[str, Any] = Field(default_factory=dict)
