"""Iteration history record (data contracts, section 4)."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from selfimprove.contracts.base import Record
from selfimprove.contracts.benchmark import Disqualification, FailureAnalysis


class Winner(Record):
    """The plan whose change was merged."""

    plan_id: str
    score: float
    """The confirmed score."""
    approach_family: str
    hypothesis: str
    sub_scores: dict[str, float] = Field(default_factory=dict)


class Loser(Record):
    """A plan whose change was not merged, or that was never carried out."""

    additions: ClassVar[frozenset[str]] = frozenset({"disqualification"})

    plan_id: str
    score: float | None
    """Null where nothing was measured."""
    approach_family: str
    hypothesis: str
    sub_scores: dict[str, float] | None = None
    failure_analysis: FailureAnalysis | None = None
    disqualification: Disqualification | None = None


class HistoryRecord(Record):
    """What one round tried and what came of it."""

    iteration: int = Field(ge=1)
    baseline_score: float
    """The incumbent's score when the round began."""
    winner: Winner | None
    losers: list[Loser]
    research_brief_id: str
