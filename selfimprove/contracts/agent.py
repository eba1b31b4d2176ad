"""What agents are asked and answer, and agent-settings.json."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from selfimprove.contracts.base import Record

AgentRole = Literal[
    "researcher",
    "planner",
    "architect",
    "critic",
    "executor",
    "goal-clarifier",
    "benchmark-builder",
]
RunStatus = Literal[
    "idle",
    "running",
    "waiting",
    "user_stopped",
    "target_reached",
    "plateau",
    "patience",
    "max_iterations",
    "circuit_breaker",
    "budget",
    "time",
    "failed",
]


class AgentRequest(Record):
    """One question to an agent: what the command agent gets on standard input."""

    role: AgentRole
    round: int
    agent_id: str
    session_id: str
    """`<run>/round_3/planner_a`, the same on a second try."""
    prompt: str
    context: dict[str, Any]
    """The documents this role reads, whole."""
    output_schema: dict[str, Any]


class Usage(Record):
    """What a call cost."""

    input_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0
    duration_s: float = 0.0


class AgentReply(Record):
    """An agent's answer."""

    output: dict[str, Any]
    """The JSON object that fits `output_schema`."""
    usage: Usage = Field(default_factory=Usage)
    transcript: str = ""
    """What the agent said besides, capped; goes to logs/."""


class ExecutorOutput(Record):
    """What an executor answers after it edited its tree."""

    model_config = Record.model_config | {"extra": "allow"}

    summary: str


class AgentSettings(Record):
    """agent-settings.json: the run's counters and where it stands."""

    additions: ClassVar[frozenset[str]] = frozenset({"reason", "waiting_until", "exit_code"})

    trust_confirmed: bool = False
    goal_slug: str
    topic_slug: str = "default"
    status: RunStatus = "idle"
    iterations: int = 0
    baseline_score: float | None = None
    best_score: float | None = None
    plateau_consecutive_count: int = 0
    patience_count: int = 0
    circuit_breaker_count: int = 0
    current_phase: str | None = None
    current_milestone: str | None = None
    reason: str = ""
    waiting_until: str = ""


class RunTotals(Record):
    """What a run has spent."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    tokens: int = 0
    usd: float = 0.0


class Span(Record):
    """One agent call or measurement in run.json."""

    name: str
    agent: str = ""
    round: int
    started_at: str
    duration_s: float
    usage: Usage | None = None
    additions: ClassVar[frozenset[str]] = frozenset({"usage", "agent"})


class RunReport(Record):
    """run.json: totals and the spans of the last rounds."""

    run_id: str
    totals: RunTotals = Field(default_factory=RunTotals)
    spans: list[Span] = Field(default_factory=list)
