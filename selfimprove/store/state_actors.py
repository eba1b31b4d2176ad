"""What the folded state knows of each planner and each executor of the round under way."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from selfimprove.contracts.base import Record
from selfimprove.contracts.benchmark import BenchmarkResult, Sample
from selfimprove.contracts.critique import CriticReply, RuleVerdict
from selfimprove.contracts.iteration import ExecutorStatus, StepStatus
from selfimprove.contracts.plan import ArchitectReview, Plan
from selfimprove.contracts.verify import VerifyResult


class PlannerState(Record):
    """One planner of the round under way."""

    additions: ClassVar[frozenset[str]] = frozenset({"architect", "word", "verify", "sent_back"})

    families: list[str]
    files: list[str] = Field(default_factory=list)
    """Target files it is narrowed to; empty where it may touch any in scope."""
    status: StepStatus = "pending"
    plan: Plan | None = None
    revision: int = 0
    verdicts: list[RuleVerdict] = Field(default_factory=list)
    critiques: list[CriticReply] = Field(default_factory=list)
    architect: ArchitectReview | None = None
    """What the architect answered, before code's own advice was joined to it."""
    word: RuleVerdict | None = None
    """What `gate.command` said of the plan."""
    verify: VerifyResult | None = None
    """What the verifier said of the plan as it stands."""
    experiment: bool = False
    """The panel was split over the plan: it is tried after every other candidate."""
    sent_back: str = ""
    """Why an expression or a command of the project's own did not let the plan pass."""
    reviewed: bool = False
    critique_round: int = 0
    """How often the planner revised its plan for the critics."""
    error: str = ""


class Candidate(Record):
    """What an executor made: a commit, and nothing else of it survives."""

    commit: str
    tree: str
    files: list[str]
    claim: dict[str, Any] | None = None
    """The executor's own answer: stored, never used."""
    fix_attempts: int = 0


class SentBack(Record):
    """What an executor is asked to do better, and from where it goes on."""

    commit: str
    tree: str
    """Of the commit."""
    feedback: list[str]
    fixes: int = 0
    """How often it was sent back to mend something, this time included."""


class ExecutorState(Record):
    """One executor of the round under way."""

    additions: ClassVar[frozenset[str]] = frozenset(
        {"critiques", "verified", "gate", "reason", "sent_back"}
    )

    plan_id: str
    status: ExecutorStatus = "pending"
    candidate: Candidate | None = None
    critiques: list[CriticReply] = Field(default_factory=list)
    """Of the candidate, where changes are criticised."""
    verified: list[str] = Field(default_factory=list)
    """Commits of it that were verified, in order."""
    gate: str = ""
    """What was decided on the candidate: `commit` or `reject`; empty while nothing is."""
    reason: str = ""
    """Why it was rejected."""
    revision: int = 0
    """How often it changed its candidate for the critics."""
    sent_back: SentBack | None = None
    samples: list[Sample] = Field(default_factory=list)
    raw: str = ""
    """Standard output of its first run."""
    result: BenchmarkResult | None = None
