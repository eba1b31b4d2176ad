"""What a candidate changed, as plain records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Change:
    """One path that differs from the parent commit."""

    path: str
    kind: Literal["added", "modified", "deleted"]
    mode: str
    """"" when it was deleted."""
    old_mode: str
    """"" when it is new."""
    oid: str
    """"" when it was deleted."""
    link: str = ""
    """Where it points, when it is a symlink."""
    old_oid: str = ""
    """What stood there, where that was compared."""


@dataclass(frozen=True)
class Odd:
    """Something in a candidate's tree that no commit can hold, or must not."""

    path: str
    reason: str


@dataclass(frozen=True)
class Collected:
    """The commit that a candidate's edits make, and what they are."""

    commit: str
    changes: tuple[Change, ...]
    ignored: tuple[str, ...]
    """New files left out: caches, bytecode and what the base's .gitignore names."""
    odd: tuple[Odd, ...] = ()
    """Left out as well, and reasons to refuse the candidate."""
