"""What the layers of a run are, and what is remembered of those that were made."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from selfimprove.process import Outcome
from selfimprove.vcs.quarantine import Entry


@dataclass(frozen=True)
class DepsLayer:
    """What `deps_command` made, and from which lock files."""

    tree: Path
    key: str


@dataclass(frozen=True)
class Prepared:
    """A commit's frozen build."""

    commit: str
    stack: tuple[Path, ...]
    """Read-only layers, lowest first."""
    ok: bool
    outcome: Outcome | None = None
    """How `prepare_command` ended, where it ran just now."""
    written: frozenset[str] = frozenset()
    """Sealed files that this commit's build wrote over, and the base's does not: it is not `ok`."""


@dataclass
class Known:
    """What was made for commits so far in this process."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    locks: dict[str, threading.Lock] = field(default_factory=dict)
    made: dict[str, set[Path]] = field(default_factory=dict)
    failed: dict[str, Outcome] = field(default_factory=dict)
    written: dict[Path, frozenset[str]] = field(default_factory=dict)
    """Build -> sealed files that it wrote over."""
    keys: dict[str, str] = field(default_factory=dict)
    """Commit -> the name of its export."""
    changed: dict[str, Mapping[str, Entry] | None] = field(default_factory=dict)
    """Commit -> its files that differ from the base's; None where it is exported whole."""
