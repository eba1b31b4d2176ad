"""Merge report (data contracts, section 9)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from selfimprove.contracts.base import Record

MergeStatus = Literal["merged", "no_improvement", "no_winner", "all_rejected"]


class MergeWinner(Record):
    """The candidate that was merged."""

    executor_id: str
    branch: str
    hypothesis: str
    score_before: float
    score_after: float
    sub_scores: dict[str, float] = Field(default_factory=dict)


class MergeReport(Record):
    """How a round's tournament ended."""

    additions: ClassVar[frozenset[str]] = frozenset({"evidence", "stacked", "held_back"})

    iteration: int = Field(ge=1)
    goal_slug: str
    winner: MergeWinner | None
    archived: list[str] = Field(default_factory=list)
    regressions_detected: bool = False
    re_benchmark_score: float | None
    status: MergeStatus
    reason: str | None
    evidence: dict[str, Any] | None = None
    """Pairs, verdicts and commits of every confirmation, tried in order."""
    stacked: list[MergeWinner] = Field(default_factory=list)
    held_back: bool | None = None
    """True while the improvement branch was checked out and the win waits in the quarantine."""

    @model_validator(mode="after")
    def _reason_goes_with_status(self) -> MergeReport:
        if (self.reason is None) != (self.status == "merged"):
            raise ValueError("reason is required where status is not 'merged', null where it is")
        if (self.winner is None) == (self.status == "merged"):
            raise ValueError("winner is required where status is 'merged', null where it is not")
        return self
