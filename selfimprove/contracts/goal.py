"""A goal, as read from goal.md."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from selfimprove.contracts.base import Direction, Record


class Metric(Record):
    """What is measured, in which direction it should go, and how far."""

    name: str
    direction: Direction
    target_value: float | None = None
    unit: str = ""


class Scope(Record):
    """Which paths a candidate may change; paths, folders or globs."""

    in_scope: list[str]
    out_of_scope: list[str] = Field(default_factory=list)
    hidden: list[str] = Field(default_factory=list)
    """In no agent's tree or prompt."""


class BenchmarkSpec(Record):
    """How the score is made."""

    additions: ClassVar[frozenset[str]] = frozenset({"timeout_s", "format"})

    command: str = ""
    format: str = ""
    timeout_s: float | None = None
    sealed: list[str] = Field(default_factory=list)


class GuardCommand(Record):
    """A command that must stay green."""

    name: str
    command: str
    timeout: float | None = None
    """Seconds; the benchmark's time-out where none is given."""


class SubScoreRule(Record):
    """A declared sub-score: its direction and the relative loss that is tolerated."""

    direction: Direction
    tolerance: float | None = None
    """Relative (0.05 is 5%); `regression_threshold` where none is given."""


class Phase(Record):
    """One row of `## Phases`."""

    name: str
    focus: str = ""
    targets: list[str] = Field(default_factory=list)
    """Expressions such as `dim_a >= 90.0`."""
    status: Literal["active", "pending", "completed"] = "pending"


class Milestone(Record):
    """One line of `## Milestones`."""

    name: str
    target: str
    """An expression over `score` and sub-scores: `score <= 100`."""


class Goal(Record):
    """The checked contents of goal.md."""

    objective: str
    slug: str
    metric: Metric
    scope: Scope
    benchmark: BenchmarkSpec = Field(default_factory=BenchmarkSpec)
    guards: list[GuardCommand] = Field(default_factory=list)
    constraints: list[str] = Field(default_factory=list)
    """Expressions such as `accuracy >= 0.98`."""
    sub_scores: dict[str, SubScoreRule] = Field(default_factory=dict)
    phases: list[Phase] = Field(default_factory=list)
    milestones: list[Milestone] = Field(default_factory=list)
    ideas: list[str] = Field(default_factory=list)
    """`## Experiment Ideas`, a line each."""
    sha256: str = ""
    """Of the checked copy, `config/goal.md`: the file's text with newlines normalised."""
