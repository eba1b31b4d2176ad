"""The folded state of a run: bounded, so that a checkpoint can hold it."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from selfimprove.contracts.agent import AgentSettings, RunReport, RunStatus, RunTotals, Span, Usage
from selfimprove.contracts.base import Direction, Record
from selfimprove.contracts.benchmark import (
    Canary,
    Disqualification,
    Fingerprint,
    HowRun,
    Inside,
    Pair,
    Sample,
)
from selfimprove.contracts.brief import ResearchBrief
from selfimprove.contracts.critique import QualityReport, Refinement, Remembered
from selfimprove.contracts.history import HistoryRecord
from selfimprove.contracts.iteration import StepName, StepStatus
from selfimprove.contracts.merge import MergeReport
from selfimprove.contracts.plan import Plan
from selfimprove.contracts.significance import Estimate, Judgement, Trial
from selfimprove.contracts.tracking import Baseline
from selfimprove.contracts.verify import VerifyTotals
from selfimprove.store.state_actors import ExecutorState, PlannerState

RECENT_ROUNDS = 10
"""History records that a checkpoint carries and agents are shown whole."""
LAST_WINS = 50
"""Accepted merges that a checkpoint lists; the merge reports hold all."""
LAST_IDEAS = 30
LAST_SPANS = 60
LAST_OUTSIDE = 10


class Facts(Record):
    """What is fixed at set-up."""

    run_id: str
    seed_key: str
    """Seeds are derived from it; in no agent's reach."""
    topic: str
    goal_slug: str
    objective: str
    metric: str
    unit: str = ""
    direction: Direction
    target_value: float | None
    target_branch: str
    """Full ref name, or empty where the target's HEAD was detached."""
    base_commit: str
    """Where the improvement branch was born; seals are taken from here."""
    improve_ref: str
    """`refs/heads/improve/<slug>`."""
    benchmark_timeout: float
    deterministic: bool
    score_keys: list[str]
    """Every key of the benchmark's answer at the baseline, recursively; empty where it has none."""
    opened: list[str]
    """Files of the tree that the baseline run was seen to open."""
    sealed_extra: dict[str, str] = Field(default_factory=dict)
    """Uncommitted goal and benchmark files, taken as they stood: path -> blob id."""
    sealed_programs: list[str] = Field(default_factory=list)
    """Those of them that are executable."""
    level: str
    """Isolation level the run is measured at."""
    self_scored: list[str] = Field(default_factory=list)
    """Files in scope that also make the score."""
    benchmark_files: list[str] = Field(default_factory=list)
    """The benchmark's own files: its command's words that are files, goal.md, guards' scripts."""
    left_behind: int | None = None
    """Processes that the baseline's runs left running, at most; None before it was measured."""
    found_as: str = ""
    """The name that the score was found under."""
    mentions: int | None = None
    """Lines of their output that spoke of the score, at most."""
    tests: dict[str, float] = Field(default_factory=dict)
    """`tests` and `skipped` of the baseline's test report, where it is one."""
    how_run: HowRun = ""
    """How the benchmark was seen to run the candidate."""
    inside: Inside | None = None
    """Of a benchmark in Python that the bootstrap can follow."""
    profile: dict[str, Any] | None = None
    """Where the baseline spent its time, where that could be learnt."""


class Incumbent(Record):
    """The tip of the improvement branch and its score."""

    commit: str
    score: float
    sub_scores: dict[str, float] = Field(default_factory=dict)


class Confirmation(Record):
    """One candidate measured again beside the incumbent, merged in the quarantine."""

    additions: ClassVar[frozenset[str]] = frozenset({"holdout_gain"})

    executor_id: str
    merge_commit: str
    """The commit that is measured; empty where it could not be built."""
    base: str = ""
    """What it is measured beside: the incumbent, or a win of this round that it is stacked on."""
    trial: Trial
    """What it is to decide, fixed before its first pair."""
    pairs: list[Pair] = Field(default_factory=list)
    judgement: Judgement | None = None
    regressions: list[str] = Field(default_factory=list)
    """Conditions that it does not keep."""
    holdout: bool | None = None
    """What the held-out benchmark answered."""
    holdout_gain: float | None = None
    """The gain there: for a person to compare, never told to an agent."""
    closing: list[Pair] = Field(default_factory=list)
    """Fresh pairs, looked at only when all are measured: the stored score."""
    estimate: Estimate | None = None
    commit: str = ""
    """The commit to publish, once it holds and is closed."""
    holds: bool | None = None
    """None while it is still being measured."""
    reason: str = ""
    score_before: float | None = None
    score_after: float | None = None
    disqualification: Disqualification | None = None
    at: str = ""
    """When it was decided: the date of the commit that is published."""


class TournamentState(Record):
    """The tournament of the round under way."""

    status: StepStatus = "pending"
    confirmations: list[Confirmation] = Field(default_factory=list)
    report: MergeReport | None = None


class Round(Record):
    """The round under way, or the last one."""

    additions: ClassVar[frozenset[str]] = frozenset({"incumbent_runs", "spent", "waited_s"})

    number: int
    status: Literal["in_progress", "completed", "failed", "interrupted"] = "in_progress"
    answered: list[str] = Field(default_factory=list)
    """Keys of the kept replies that were charged already, and of lost questions."""
    waited_s: float | None = None
    """How long it was waited for agents that could not be reached."""
    step: StepName = "research"
    started_at: str
    updated_at: str
    incumbent: Incumbent
    spent_before: RunTotals = Field(default_factory=RunTotals)
    """What the run had spent when the round began."""
    spent: dict[str, Usage] = Field(default_factory=dict)
    """`planning/planner` -> what the holders of that role have spent in that step."""
    step_done: dict[str, str] = Field(default_factory=dict)
    """Step -> when it was completed."""
    brief: ResearchBrief | None = None
    brief_verified: bool = False
    ideas: list[str] = Field(default_factory=list)
    """User ideas consumed by this round."""
    attempt: int = 0
    """How often planning was sent back by the quality report."""
    stock_taken: int = 0
    """The attempt for which the quality report was made."""
    assigned: int = 0
    """The attempt for which families were assigned."""
    refinement: Refinement | None = None
    planners: dict[str, PlannerState] = Field(default_factory=dict)
    quality: QualityReport | None = None
    executors: dict[str, ExecutorState] = Field(default_factory=dict)
    incumbent_runs: list[Sample] = Field(default_factory=list)
    """Of the incumbent, in turn with the candidates' screening runs."""
    tournament: TournamentState = Field(default_factory=TournamentState)
    history: HistoryRecord | None = None
    decision: str = ""
    """What stop_check decided: `go_on`, or the status the run stops with."""
    reason: str = ""
    """Why it stops."""

    def confirmation_of(self, executor_id: str) -> Confirmation | None:
        """The confirmation of one executor's candidate, as far as it is."""
        tried = self.tournament.confirmations
        return next((each for each in tried if each.executor_id == executor_id), None)

    @property
    def won(self) -> list[Confirmation]:
        """The confirmations that were merged, in order."""
        return [each for each in self.tournament.confirmations if each.commit]

    @property
    def tip(self) -> str:
        """The commit that the next candidate is measured beside: the round's last win, if any."""
        won = self.won
        return won[-1].commit if won else self.incumbent.commit

    def approved(self) -> dict[str, Plan]:
        """The approved plans by executor id: the k-th approved plan in planner order."""
        plans = [p.plan for p in self.planners.values() if p.plan and p.plan.critic_approved]
        return {f"executor_{k}": plan for k, plan in enumerate(plans, 1)}

    def experiments(self) -> frozenset[str]:
        """The executors that carry out a plan over which the panel was split."""
        plans = {p.plan.plan_id for p in self.planners.values() if p.plan and p.experiment}
        return frozenset(name for name, each in self.executors.items() if each.plan_id in plans)

    def plan_of(self, executor_id: str) -> Plan:
        """The plan that an executor carries out."""
        wanted = self.executors[executor_id].plan_id
        return next(p.plan for p in self.planners.values() if p.plan and p.plan.plan_id == wanted)


class Win(Record):
    """One accepted merge."""

    iteration: int
    plan_id: str
    hypothesis: str
    approach_family: str
    commit: str
    score_before: float
    score_after: float


class Deed(Record):
    """An intent whose result has not been journaled yet."""

    tool: str
    args_hash: str
    seq: int
    timestamp: str


class IdeaFate(Record):
    """What became of a user's idea."""

    text: str
    iteration: int
    fate: str
    """`consumed`, `planned as round_3_planner_a`, `merged`, …"""


class Outside(Record):
    """What changed in the user's repository while a round ran, and not by the run."""

    iteration: int
    changed: list[str]
    """`refs (refs/heads/main)`, `index`, `hooks (hooks/pre-commit)`, …"""


class State(Record):
    """Everything the loop knows; a pure fold over the journal."""

    additions: ClassVar[frozenset[str]] = frozenset({"models", "refinements", "verify"})

    facts: Facts | None = None
    goal_sha256: str = ""
    """Of the goal as it was at the last start."""
    config: dict[str, Any] = Field(default_factory=dict)
    """The settings of the process that has the run, or had it last."""
    trust: str = ""
    """Digest of what a person confirmed."""
    settings: AgentSettings | None = None
    baseline: Baseline | None = None
    fingerprint: Fingerprint | None = None
    """Of the measurements that `incumbent` rests on."""
    samples: list[Sample] = Field(default_factory=list)
    """Baseline runs finished so far, while the baseline is being measured."""
    seen: dict[str, Any] = Field(default_factory=dict)
    """What the first baseline run showed besides: keys of the answer, files opened, profile."""
    canaries: list[Canary] = Field(default_factory=list)
    """What known changes came to, when the benchmark was last tried with them."""
    incumbent: Incumbent | None = None
    published: str | None = None
    """What the improvement branch is known to hold in the target; None until it is born."""
    round: Round | None = None
    recent: list[HistoryRecord] = Field(default_factory=list)
    wins: list[Win] = Field(default_factory=list)
    wins_total: int = 0
    ideas: list[IdeaFate] = Field(default_factory=list)
    refinements: dict[str, Remembered] = Field(default_factory=dict)
    """`out_of_scope/files` -> what refinements for that cause, at that level, came to."""
    outside: list[Outside] = Field(default_factory=list)
    """The last of such changes."""
    totals: RunTotals = Field(default_factory=RunTotals)
    models: dict[str, RunTotals] = Field(default_factory=dict)
    """Spec -> what asking whom it names has cost."""
    spans: list[Span] = Field(default_factory=list)
    verify: VerifyTotals | None = None
    """What verifications came to; None before the first."""
    report: RunReport | None = None
    """run.json, as of the last round that ended, or the last stop."""
    repeated_calls: int = 0
    """Paid calls whose reply was lost in a crash and that were made again."""
    open_deeds: dict[str, Deed] = Field(default_factory=dict)
    """Intents in flight, by correlation id."""
    holdout_asked: int = 0
    """How often the held-out benchmark has answered."""
    holdout_refused: int = 0
    """How often it said no."""
    final: Estimate | None = None
    """The run's reported gain: the first base against the tip, in fresh pairs, at the last stop."""
    final_of: str = ""
    """The tip it was measured for."""
    final_pairs: list[Pair] = Field(default_factory=list)
    milestones: list[str] = Field(default_factory=list)
    """Milestones reached so far."""
    phase: str | None = None

    @property
    def number(self) -> int:
        """The round under way or the last one; 0 before the first."""
        return self.round.number if self.round else 0

    @property
    def status(self) -> RunStatus:
        """The run's status."""
        return self.settings.status if self.settings else "idle"

    @property
    def held_back(self) -> bool:
        """Whether wins wait in the quarantine to be published."""
        if self.incumbent is None or self.facts is None:
            return False
        tournament = self.round.tournament if self.round else TournamentState()
        if tournament.report is None and any(each.holds for each in tournament.confirmations):
            return False  # a win is being published: its report is what makes it the incumbent
        return self.incumbent.commit != (self.published or self.facts.base_commit)
