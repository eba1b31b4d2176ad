"""Settings, grouped as users read them; every default is here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field, field_validator

from selfimprove.contracts.agent import AgentRole
from selfimprove.contracts.base import Direction, Record
from selfimprove.contracts.goal import GuardCommand, SubScoreRule

PLAIN_FORMATS = ("json", "number", "pass_fail")
MEASURING_TOOLS = ("hyperfine", "pytest-benchmark", "pyperf", "go-bench", "criterion", "junit")
CODING_CLIS = ("claude-code", "codex", "gemini", "opencode", "aider")
FORMATS = (*PLAIN_FORMATS, *MEASURING_TOOLS)


class Provide(Record):
    """A path of the user's that is mounted read-only in its place."""

    additions: ClassVar[frozenset[str]] = frozenset({"hash"})

    path: str
    """Absolute, or relative to the target repository."""
    hash: Literal["content", "manifest", "none"] | None = None
    """How it is fingerprinted; by size where not given (over 1 GB: manifest)."""
    for_: tuple[Literal["benchmark", "agents", "holdout"], ...] = Field(
        default=("benchmark", "agents"), alias="for"
    )

    model_config = Record.model_config | {"populate_by_name": True, "serialize_by_alias": True}


class Service(Record):
    """A program the benchmark needs, started inside the room before each measurement."""

    name: str = Field(min_length=1)
    start: str = Field(min_length=1)
    """Stays, or ends once the service runs by itself."""
    ready: str = ""
    """Exits with 0 once it is; without one, `start` has ended or has stayed for a second."""
    stop: str = ""
    """Ends it; TERM where there is none."""
    reset: str = ""
    """Puts it into the state that every measurement begins from."""


class SandboxSettings(Record):
    """How candidates are isolated."""

    mode: Literal["auto", "required", "off"] = "auto"
    network: Literal["none", "host"] | list[str] = "none"
    """`none`, `host`, or named sockets and ports."""
    devices: list[str] = Field(default_factory=list)
    memory_mb: int | None = None
    processes: int | None = None
    disk_mb: int | None = None


class SignificanceSettings(Record):
    """When a gain counts as real."""

    alpha: float = Field(default=0.05, gt=0, lt=0.5)
    min_effect: float = Field(default=0.0, ge=0)
    max_pairs: int | None = Field(default=None, ge=3)
    closing_pairs: int = Field(default=8, ge=0)


class AgentPaths(Record):
    """What a command agent may read and write besides its tree."""

    read: list[str] = Field(default_factory=list)
    write: list[str] = Field(default_factory=list)


class ModelPrice(Record):
    """Dollars per million tokens of a model."""

    additions: ClassVar[frozenset[str]] = frozenset({"cache_read", "cache_write"})

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cache_read: float | None = Field(default=None, ge=0)
    """As `input` where not given."""
    cache_write: float | None = Field(default=None, ge=0)
    """As `input` where not given."""


class Limit(Record):
    """A budget for one scope; a limit that is None does not bind.

    Once one is reached no further call is made and the run stops, resumably, with status `budget`.
    A model's every request is reserved beforehand at the most it may cost, and not made where that
    is more than is left. What another program spends in a call is known only when it has ended, so
    that tokens and dollars may be passed by what those asked side by side spend.
    """

    additions: ClassVar[frozenset[str]] = frozenset({"tokens", "usd", "minutes", "calls"})

    tokens: int | None = Field(default=None, ge=0)
    usd: float | None = Field(default=None, ge=0)
    minutes: float | None = Field(default=None, ge=0)
    """Time at work since this start; a pause is not counted, and the next start counts anew. It
    keeps measurements from beginning, too. Of a call: the time it may take."""
    calls: int | None = Field(default=None, ge=0)
    """A model's every request is one; so is each start of another program."""


class BudgetSettings(Record):
    """Budgets for the run, each iteration, each step of one, each role in one, and each call."""

    run: Limit = Field(default_factory=Limit)
    iteration: Limit = Field(default_factory=Limit)
    step: Limit = Field(default_factory=Limit)
    roles: dict[AgentRole, Limit] = Field(default_factory=dict)
    """Role -> what all who have it may spend in one iteration."""
    call: Limit = Field(default_factory=Limit)
    """Of one question to one agent, all its requests. Where it is not enough the run stops."""

    def limits(self) -> Iterator[tuple[str, Limit]]:
        """Every limit, by its dotted name."""
        yield from (("run", self.run), ("iteration", self.iteration), ("step", self.step))
        yield from ((f"roles.{role}", limit) for role, limit in self.roles.items())
        yield "call", self.call


class GateSettings(Record):
    """What gates weigh plans by, where `gate_policy` is not `all_required_critics_pass`."""

    additions: ClassVar[frozenset[str]] = frozenset(
        {"weights", "threshold", "experiments", "expression", "command"}
    )

    weights: dict[str, float] = Field(default_factory=dict)
    """weighted_threshold: `critic`, `critic_2`, `architect` -> how much its score counts; 1 for a
    critic and 0 for the architect (approve is 1.0, reject 0.0) where nothing is said."""
    threshold: float | None = Field(default=None, ge=0, le=1)
    """weighted_threshold: the weighted mean that is wanted; `approval_threshold` where not set."""
    experiments: int | None = Field(default=None, ge=0)
    """weighted_threshold: plans a round that split the panel and go on all the same, each as an
    experiment that is tried after every other candidate; 1 where not set."""
    expression: str = ""
    """domain_specific: what must be true of a plan, as in `score >= 0.7 && files <= 2`."""
    command: str = ""
    """domain_specific: run as guards are, on the incumbent, with the plan as JSON on standard
    input; 0 lets the plan pass."""

    @field_validator("weights")
    @classmethod
    def _count_something(cls, value: dict[str, float]) -> dict[str, float]:
        for name, weight in value.items():
            if not re.fullmatch(r"critic(_[1-9]\d*)?|architect", name):
                raise ValueError(f"{name!r} is no reviewer: write critic, critic_2 or architect")
            if weight < 0:
                raise ValueError(f"{name} weighs {weight:g}: a weight is 0 or more")
        return value


class Settings(Record):
    """settings.json, and what flags, environment and goal.md may set."""

    # loop
    number_of_agents: int = Field(default=3, ge=1, le=26)
    """Planners, and at most as many executors, a round."""
    max_iterations: int = Field(default=50, ge=0)
    target_value: float | None = None
    plateau_threshold: float = Field(default=0.01, ge=0)
    """Relative gain below which a win counts towards the plateau."""
    plateau_window: int = Field(default=3, ge=1)
    patience: int = Field(default=10, ge=1)
    circuit_breaker_threshold: int = Field(default=3, ge=1)
    round_timeout: float | None = Field(default=None, gt=0)
    """Seconds at work that a round's agents and first measurements may take. Then agents are cut
    short, none is asked any more and no candidate is measured for the first time: an executor
    without a score gets `timeout`. What was measured goes on to the tournament, which is not bound
    by it; a pause is not counted."""
    target_branch: str = ""
    """The branch the improvement branch is born from; the one checked out where empty."""
    topic_slug: str = Field(default="default", pattern=r"^[a-z0-9][a-z0-9-]{0,30}$")
    family_streak_limit: int = Field(default=3, ge=2)
    """H002: a family may not win this many rounds running."""

    # benchmark
    benchmark_command: str = ""
    benchmark_format: str = "json"
    benchmark_direction: Direction | None = None
    primary_metric: str = ""
    benchmark_timeout: float | None = Field(default=None, gt=0)
    """Seconds; 5 x the slowest baseline run and at least 60 where not set."""
    score_bound: float | None = None
    """A score better than this cannot be: such a candidate is disqualified and kept in the
    quarantine, for a person to look at."""
    benchmark_warmup: int = Field(default=0, ge=0, le=20)
    """Runs before each measured one, in trees of their own; nothing of them is kept."""
    benchmark_cpus: Literal["off", "auto"] | list[int] = "off"
    """Cores that a measurement is held to, on Linux: `auto` is one core, for a benchmark that uses
    one; a list names them."""
    benchmark_load_wait: float = Field(default=60, ge=0)
    """Seconds that a measurement waits at most while other programs take all cores; 0: it does
    not look."""
    seed_env: str = ""
    holdout_command: str = ""
    guards: list[GuardCommand] = Field(default_factory=list)
    constraints: list[str] = Field(default_factory=list)
    sub_scores: dict[str, SubScoreRule] = Field(default_factory=dict)
    regression_threshold: float = Field(default=0.05, ge=0)

    # tree
    deps_command: str = ""
    prepare_command: str = ""
    prepare_timeout: float = Field(default=1800, gt=0)
    prepare_cache: list[str] = Field(default_factory=list)
    provide: list[Provide] = Field(default_factory=list)
    env: list[str] = Field(default_factory=list)
    """Names of environment variables let through to prepare, benchmark and guards."""
    services: list[Service] = Field(default_factory=list)
    redact: list[str] = Field(default_factory=list)
    """Regular expressions: what matches is replaced by `***` in documents, logs and transcripts."""
    sealed_files: list[str] = Field(default_factory=list)
    unsealed_files: list[str] = Field(default_factory=list)
    export_git: bool = False

    # sandbox and significance
    sandbox: SandboxSettings = Field(default_factory=SandboxSettings)
    significance: SignificanceSettings = Field(default_factory=SignificanceSettings)

    # agents
    agents: dict[str, str | list[str]] = Field(default_factory=dict)
    """Role -> agent spec, or for planners a list of specs, one each."""
    agent_timeout: float = Field(default=1800, gt=0)
    agent_wait: float = Field(default=21_600, ge=0)
    """Seconds that a run waits, with growing pauses, while an agent cannot be reached; then it
    stops, resumably. A limit that is said to end later than that is not waited for."""
    agent_paths: AgentPaths = Field(default_factory=AgentPaths)
    agent_commands: list[str] = Field(default_factory=list)
    """Commands that executors which are models may run in the room, besides the guards."""
    agent_keys: list[Literal["claude-code", "codex", "gemini", "opencode", "aider"]] = Field(
        default_factory=list
    )
    """Coding CLIs that are paid by an API key from the environment (ANTHROPIC_API_KEY, ...). Others
    are never given one: the account they are logged in with pays."""
    prices: dict[str, ModelPrice] = Field(default_factory=dict)
    """Model -> its price, where the table that comes with selfimprove is wrong or knows none."""
    number_of_max_critics: int = Field(default=1, ge=0)
    approval_threshold: float = Field(default=0.9, ge=0, le=1)
    max_critique_rounds: int = Field(default=3, ge=1)
    critique_execution: bool = False
    """Executors' diffs are criticised as plans are: by the same panel, against the same threshold,
    as often. It takes place when guards are green, before anything is measured."""
    max_fix_attempts: int = Field(default=2, ge=0)
    quality_threshold: float = Field(default=0.3, ge=0, le=1)
    """Share of a round's plans that must pass review; below it planning is sent back."""
    quality_thresholds: dict[str, Annotated[float, Field(ge=0, le=1)]] = Field(default_factory=dict)
    """Family -> its own; a round is held to the mean of what its plans' families ask."""
    max_plan_retries: int = Field(default=2, ge=0)
    adaptive_refinement: bool = True
    gate_policy: Literal["all_required_critics_pass", "weighted_threshold", "domain_specific"] = (
        "all_required_critics_pass"
    )
    gate: GateSettings = Field(default_factory=GateSettings)

    # budget and hand-over
    budget: BudgetSettings = Field(default_factory=BudgetSettings)
    auto_push: bool = False
    auto_pr: bool = False
    current_repo_url: str = ""
    fork_url: str = ""
    upstream_url: str = ""

    @field_validator("redact")
    @classmethod
    def _compile(cls, value: list[str]) -> list[str]:
        for each in value:
            try:
                re.compile(each)
            except re.error as error:
                raise ValueError(f"{each!r} is not a regular expression: {error}") from None
        return value

    @field_validator("benchmark_format")
    @classmethod
    def _known_format(cls, value: str) -> str:
        if value in FORMATS or value.startswith("regex:"):
            return value
        raise ValueError(f"no format {value!r}; known: {', '.join(FORMATS)}, regex:PATTERN")
