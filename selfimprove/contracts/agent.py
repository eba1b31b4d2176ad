"""What agents are asked and answer, and agent-settings.json."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from selfimprove.contracts.base import Record
from selfimprove.contracts.verify import VerifyTotals

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
    """What asking an agent cost."""

    additions: ClassVar[frozenset[str]] = frozenset(
        {"calls", "retries", "cache_read_tokens", "cache_write_tokens"}
    )

    input_tokens: int = 0
    """Everything that was read, what came from a cache or went into one included."""
    output_tokens: int = 0
    usd: float = 0.0
    duration_s: float = 0.0
    calls: int | None = None
    """Requests that a model began to answer; None for an agent that is one call by itself."""
    retries: int | None = None
    """Requests that were refused or cut off, and made again."""
    cache_read_tokens: int | None = None
    """Of the input, read from the provider's cache."""
    cache_write_tokens: int | None = None
    """Of the input, put into the provider's cache."""

    @property
    def counted(self) -> int:
        """How many calls this is, in a budget and in totals."""
        return 1 if self.calls is None else self.calls

    @property
    def tokens(self) -> int:
        """Read and written, together."""
        return self.input_tokens + self.output_tokens

    def plus(self, more: Usage) -> Usage:
        """What both cost together."""
        return Usage(
            input_tokens=self.input_tokens + more.input_tokens,
            output_tokens=self.output_tokens + more.output_tokens,
            usd=self.usd + more.usd,
            duration_s=self.duration_s + more.duration_s,
            calls=self.counted + more.counted,
            retries=_sum(self.retries, more.retries),
            cache_read_tokens=_sum(self.cache_read_tokens, more.cache_read_tokens),
            cache_write_tokens=_sum(self.cache_write_tokens, more.cache_write_tokens),
        )


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

    additions: ClassVar[frozenset[str]] = frozenset({"retries", "cache_read_tokens"})

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    tokens: int = 0
    usd: float = 0.0
    retries: int | None = None
    cache_read_tokens: int | None = None
    """Of the input tokens, read from providers' caches."""

    def plus(self, usage: Usage) -> RunTotals:
        """These totals with one more agent's usage."""
        return RunTotals(
            calls=self.calls + usage.counted,
            input_tokens=self.input_tokens + usage.input_tokens,
            output_tokens=self.output_tokens + usage.output_tokens,
            tokens=self.tokens + usage.input_tokens + usage.output_tokens,
            usd=self.usd + usage.usd,
            retries=_sum(self.retries, usage.retries),
            cache_read_tokens=_sum(self.cache_read_tokens, usage.cache_read_tokens),
        )


class Span(Record):
    """One agent call, measurement or other effect in run.json."""

    additions: ClassVar[frozenset[str]] = frozenset({"agent", "spec", "parent", "failed", "usage"})

    name: str
    agent: str = ""
    spec: str = ""
    """Who was asked, as settings name them: `anthropic:MODEL`, `offline`, `command:WORDS`."""
    parent: str = ""
    """The round and the step that it belongs to: `round_3/planning`."""
    failed: str = ""
    """Of what kind the failure was, where an agent gave no answer: `timeout`, `refused`, …"""
    round: int
    started_at: str
    duration_s: float
    usage: Usage | None = None


class CostOfWin(Record):
    """What an accepted win came to, the rounds without one included."""

    calls: float
    tokens: float
    usd: float


class RunReport(Record):
    """run.json: totals and the spans of the last rounds."""

    additions: ClassVar[frozenset[str]] = frozenset({"models", "wins", "cost_per_win", "verify"})

    run_id: str
    totals: RunTotals = Field(default_factory=RunTotals)
    models: dict[str, RunTotals] = Field(default_factory=dict)
    """Spec -> what asking whom it names has cost."""
    wins: int | None = None
    """Accepted merges so far."""
    cost_per_win: CostOfWin | None = None
    spans: list[Span] = Field(default_factory=list)
    verify: VerifyTotals | None = None
    """How often what agents produced passed the verifier."""


def _sum(first: int | None, second: int | None) -> int | None:
    """Add what was counted; None where neither was."""
    return None if first is None and second is None else (first or 0) + (second or 0)
