"""What the room is told: its fixed setting, and one job at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from selfimprove.contracts.settings import AgentPaths, Provide, SandboxSettings, Service
from selfimprove.process import Limits
from selfimprove.redaction import Redactor
from selfimprove.room.environ import Profile


@dataclass(frozen=True)
class Layered:
    """A tree made of read-only layers, lowest first, with one on top that takes the writes."""

    stack: tuple[Path, ...]
    upper: Path
    work: Path
    """An empty folder beside `upper`, for the overlay's own use."""


@dataclass(frozen=True)
class RoomSpec:
    """What stays the same for every job of a run."""

    target_top: Path
    """Where every tree stands inside: the target's own absolute path."""
    prefix: str
    """`sub/folder/` where the target is a folder of its repository, else empty."""
    cache: Path
    """A private folder of this run."""
    provide: tuple[Provide, ...] = ()
    env_names: tuple[str, ...] = ()
    sandbox: SandboxSettings = field(default_factory=SandboxSettings)
    services: tuple[Service, ...] = ()
    agent_paths: AgentPaths = field(default_factory=AgentPaths)
    redactor: Redactor | None = None
    """Cleans what jobs print before it is logged."""


@dataclass(frozen=True)
class Job:
    """One command in one tree."""

    command: str | tuple[str, ...]
    """A string is run by `/bin/sh -c`; `{result}` in it becomes the result file's inner path."""
    tree: Path | Layered
    profile: Profile
    timeout: float | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes = b""
    read_only_tree: bool = False
    services: bool = True
    """With the services that measurements need, where its profile is given any."""
    alone: bool = False
    """Of the caller's variables it is given none but those that any tool needs, and `env`."""
    shares: Mapping[str, Path] = field(default_factory=dict)
    """Place below HOME -> a file of the user's that it reads and writes where it lies."""
    log: Path | None = None
    output_cap: int = 1 << 20
    program: bytes = b""
    """Given to the command in a descriptor: `{program}` in it becomes a path to read it from, and
    `{report}` the number of one to write to, which the outcome then holds."""
    limits: Limits | None = None
    """Set by the room."""
    cpus: frozenset[int] = frozenset()
    """Cores that it is held to, where any are named."""
    halted: bool = False
    """It sleeps for half of the time."""
    result_file: Path | None = None
    """Where what the command wrote to `{result}` is put, on the host; absent if it wrote none."""

    @property
    def program_words(self) -> str | tuple[str, ...]:
        """The words that may name what an agent needs to see: all, but of a tool its program."""
        return tuple(self.command[:1]) if self.alone else self.command


@dataclass(frozen=True)
class ToolCheck:
    """Whether a command's program is the same inside the room as outside."""

    name: str
    outside: str
    inside: str
    message: str = ""
    """Empty where all is well; else what differs and the line to add."""

    @property
    def ok(self) -> bool:
        """Nothing differs."""
        return not self.message
