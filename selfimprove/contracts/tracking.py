"""What is kept for charts and audits (data contracts, sections 5 and 11) and the baseline."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from selfimprove.contracts.base import Direction, Record
from selfimprove.contracts.benchmark import Measurement


class RawDataRow(Record):
    """One candidate in the chart's data."""

    iteration: int
    plan_id: str
    benchmark_score: float | None
    is_winner: bool
    approach_family: str
    sub_scores: dict[str, float] | None = None


EventType = Literal["config_change", "phase_transition"]


class TrackedEvent(Record):
    """A change of configuration, of the improvement branch, of phase or of milestone."""

    timestamp: str
    event_type: EventType
    iteration: int
    details: dict[str, Any]
    """`field`, `old_value`, `new_value`, `source`; whatever else is known of it."""


class Baseline(Record):
    """The first measured score."""

    additions: ClassVar[frozenset[str]] = frozenset({"sub_scores"})

    metric: str
    direction: Direction
    score: float
    sub_scores: dict[str, float] = Field(default_factory=dict)
    deterministic: bool
    """Every validating run gave the same score to the last digit."""
    commit: str
    """The commit that was measured."""
    measurement: Measurement
    timestamp: str
