"""Plan document (data contracts, sections 1 and 10) and what reviews write into it."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from selfimprove.contracts.base import Record

PassFail = Literal["pass", "fail"]


class PlanChange(Record):
    """One step of a plan: what changes in one file."""

    step: int = Field(ge=1)
    file: str = Field(min_length=1)
    change: str = Field(min_length=1)


class ExpectedOutcome(Record):
    """What the planner expects, and why."""

    metric: str
    estimated_impact: str
    rationale: str
    sub_score_expectations: dict[str, Any] = Field(default_factory=dict)


class HistoryReference(Record):
    """Which earlier attempts a plan leans on or steers clear of; `none` where there is none."""

    builds_on: str = "none"
    avoids: str = "none"


class CriticReview(Record):
    """The verdict of the rules in code (H001, H002, H003, schema, history)."""

    h001_hypothesis_count: PassFail
    h002_family_streak: PassFail
    h003_intra_round_diversity: PassFail
    schema_valid: PassFail
    history_aware: PassFail
    verdict: Literal["approved", "rejected"]
    rejection_reason: str | None = None


class ArchitectReview(Record):
    """The architect's advice: six points, of which code enforces what it can prove."""

    verdict: Literal["approve", "reject"]
    feedback: str = ""
    structural_concerns: list[str] = Field(default_factory=list)


class Reflection(Record):
    """How a planner thought about its plan before writing it."""

    strategy: str = ""
    assumptions: list[str] = Field(default_factory=list)
    risks: list[str] = Field(default_factory=list)
    success_criteria: str = ""
    anticipated_issues: list[str] = Field(default_factory=list)


class ToolUse(Record):
    """One intended use of a tool, in the manner of "Thinking as Data"."""

    id: str
    tool: str
    args: dict[str, Any] = Field(default_factory=dict)
    success_criteria: list[str] = Field(default_factory=list)


class PlanBudget(Record):
    """What carrying the plan out may cost."""

    max_tokens: int | None = None
    max_cost_usd: float | None = None


class Plan(Record):
    """One testable hypothesis and how to carry it out."""

    additions: ClassVar[frozenset[str]] = frozenset(
        {"reflection", "confidence", "assertions", "tool_plan", "rollback_plan", "budget"}
    )

    plan_id: str
    """`round_<n>_<planner_id>`."""
    planner_id: str
    round: int = Field(ge=1)
    hypothesis: str = Field(min_length=1)
    approach_family: str = Field(min_length=1)
    critic_approved: bool = False
    target_files: list[str] = Field(min_length=1)
    steps: list[PlanChange] = Field(min_length=1)
    expected_outcome: ExpectedOutcome
    history_reference: HistoryReference = Field(default_factory=HistoryReference)
    critic_review: CriticReview | None = None
    architect_review: ArchitectReview | None = None
    reflection: Reflection | None = None
    confidence: float | None = Field(default=None, ge=0, le=1)
    assertions: list[str] = Field(default_factory=list)
    """What will be true once it is carried out, as expressions over `score`, the metric's name,
    sub-scores by name, `gain` (relative to the incumbent, more is better: 0.05 is 5%), `incumbent`,
    `duration_s`, `memory_mb`, `files_changed`: `gain >= 0.03`, `p50 <= 12 && memory_mb < 300`."""
    tool_plan: list[ToolUse] = Field(default_factory=list)
    rollback_plan: str | None = None
    budget: PlanBudget | None = None
