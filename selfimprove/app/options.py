"""What the commands that do work hand to selfimprove.app: one frozen record each."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path


@dataclass(frozen=True)
class RunOptions:
    """`run` and `resume`; None and empty: not given."""

    repo: Path
    topic: str = "default"
    root: Path | None = None
    trees: Path | None = None
    goal_file: Path | None = None
    agent: str | None = None
    """One spec for all roles."""
    roles: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Role -> its specs; several only for planners."""
    max_iterations: int | None = None
    agents: int | None = None
    until: datetime | None = None
    for_: float | None = None
    """Seconds."""
    budget_usd: float | None = None
    no_budget: bool = False
    dry_run: bool = False
    detach: bool = False
    require_win: bool = False
    yes: bool = False
    json: bool = False
    adopt: bool = False
    restore: bool = False
    resume: bool = False
    """A person asked to go on: a run that was stopped by one does too."""


@dataclass(frozen=True)
class InitOptions:
    """`init`; what is not given is asked for, or taken from goal.md and what is detected."""

    repo: Path
    topic: str = "default"
    root: Path | None = None
    trees: Path | None = None
    goal_file: Path | None = None
    objective: str | None = None
    metric: str | None = None
    target: float | None = None
    direction: str | None = None
    """`lower_is_better` or `higher_is_better`."""
    scope: tuple[str, ...] = ()
    out_of_scope: tuple[str, ...] = ()
    command: str | None = None
    format: str | None = None
    timeout: float | None = None
    """Seconds."""
    guards: tuple[str, ...] = ()
    roles: dict[str, tuple[str, ...]] = field(default_factory=dict)
    agent: str | None = None
    budget_usd: float | None = None
    no_budget: bool = False
    yes: bool = False
    json: bool = False


@dataclass(frozen=True)
class BenchmarkOptions:
    """`benchmark`."""

    repo: Path
    topic: str = "default"
    root: Path | None = None
    trees: Path | None = None
    goal_file: Path | None = None
    runs: int | None = None
    yes: bool = False
    json: bool = False


@dataclass(frozen=True)
class DoctorOptions:
    """`doctor`."""

    repo: Path
    topic: str = "default"
    root: Path | None = None
    trees: Path | None = None
    full: bool = False
    json: bool = False


@dataclass(frozen=True)
class DemoOptions:
    """`demo`."""

    directory: Path | None = None
    """Where the bundled target is unpacked; a fresh one where not given."""
    max_iterations: int | None = None
    agent: str | None = None
    json: bool = False


@dataclass(frozen=True)
class ReplayOptions:
    """`replay`."""

    round: int
    repo: Path
    topic: str = "default"
    root: Path | None = None
    trees: Path | None = None
    json: bool = False
