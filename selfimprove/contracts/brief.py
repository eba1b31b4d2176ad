"""Research brief (data contracts, section 3)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from selfimprove.contracts.base import Record


class Idea(Record):
    """Something that could help, with where it comes from and why it is believed."""

    title: str = Field(min_length=1)
    source: str
    evidence: str
    approach_family: str
    confidence: Literal["high", "medium", "low"]
    estimated_impact: str


class ResearchBrief(Record):
    """What a researcher found for one round."""

    iteration: int = Field(ge=1)
    researcher_id: str = "researcher"
    repo_analysis_summary: str
    ideas: list[Idea]
