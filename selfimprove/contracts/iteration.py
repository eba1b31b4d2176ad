"""Iteration state (data contracts, section 8)."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from selfimprove.contracts.base import Record

StepName = Literal[
    "research",
    "planning",
    "critic_review",
    "execution",
    "tournament",
    "recording",
    "stop_check",
]
STEPS: tuple[StepName, ...] = (
    "research",
    "planning",
    "critic_review",
    "execution",
    "tournament",
    "recording",
    "stop_check",
)
StepStatus = Literal["pending", "in_progress", "completed", "failed"]
ExecutorStatus = Literal[
    "pending", "running", "measuring", "success", "regression", "error", "timeout"
]


class ResearchProgress(Record):
    """How far research is."""

    status: StepStatus = "pending"
    output_path: str | None = None
    completed_at: str | None = None


class PlannerProgress(Record):
    """How far one planner is."""

    status: StepStatus = "pending"
    output_path: str | None = None
    critic_approved: bool = False


class PlanningProgress(Record):
    """How far planning and its review are."""

    status: StepStatus = "pending"
    plans: dict[str, PlannerProgress] = Field(default_factory=dict)
    approved_count: int = 0
    completed_at: str | None = None


class ExecutorProgress(Record):
    """How far one executor is."""

    status: ExecutorStatus = "pending"
    plan_id: str
    output_path: str | None = None
    benchmark_score: float | None = None


class ExecutionProgress(Record):
    """How far execution is."""

    status: StepStatus = "pending"
    executors: dict[str, ExecutorProgress] = Field(default_factory=dict)
    completed_at: str | None = None


class TournamentProgress(Record):
    """How far the tournament is."""

    status: StepStatus = "pending"
    winner: str | None = None
    winner_score: float | None = None
    completed_at: str | None = None


class RecordingProgress(Record):
    """How far recording is."""

    status: StepStatus = "pending"
    history_path: str | None = None
    visualization_updated: bool = False
    cleanup_done: bool = False


class IterationState(Record):
    """Where the round under way stands."""

    additions: ClassVar[frozenset[str]] = frozenset()

    iteration: int = Field(ge=0)
    status: Literal["in_progress", "completed", "failed", "interrupted"]
    current_step: StepName
    started_at: str
    updated_at: str
    research: ResearchProgress = Field(default_factory=ResearchProgress)
    planning: PlanningProgress = Field(default_factory=PlanningProgress)
    execution: ExecutionProgress = Field(default_factory=ExecutionProgress)
    tournament: TournamentProgress = Field(default_factory=TournamentProgress)
    recording: RecordingProgress = Field(default_factory=RecordingProgress)
    user_ideas_consumed: list[str] = Field(default_factory=list)
