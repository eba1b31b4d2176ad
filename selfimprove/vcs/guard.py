"""Judges what a candidate changed: in scope, unsealed, and nothing that deceives."""

from __future__ import annotations

import posixpath
import re
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from selfimprove.vcs.changes import Change, Odd
from selfimprove.vcs.names import is_dot_git, readable
from selfimprove.vcs.patterns import Patterns, ancestors
from selfimprove.vcs.quarantine import Entry
from selfimprove.vcs.scope import Scope
from selfimprove.vcs.seals import Seals, SealSources, default_seals, self_scored

__all__ = [
    "Patterns",
    "Scope",
    "SealSources",
    "Seals",
    "Violation",
    "default_seals",
    "editable",
    "self_scored",
    "violations",
]

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True)
class Violation:
    """One thing a candidate must not do."""

    kind: Literal["scope_error", "sealed_file_violation"]
    path: str
    message: str
    technique: str
    """A short name for records: `sealed_file_edited`, `out_of_scope`, …"""


def violations(
    changes: Sequence[Change],
    base_entries: Mapping[str, Entry],
    scope: Scope,
    seals: Seals,
    odd: Sequence[Odd] = (),
) -> list[Violation]:
    """Everything wrong with a candidate's changes; empty when it may be measured."""
    found = [Violation("scope_error", it.path, it.reason, "odd_file") for it in odd]
    for change in changes:
        found += _wrong_with(change, scope, seals)
    found += _collisions(changes, base_entries)
    return found


def editable(entries: Mapping[str, Entry], scope: Scope, seals: Seals) -> list[str]:
    """The regular files of a commit that a candidate may change, sorted."""
    regular = (path for path, entry in entries.items() if entry.mode.startswith("100"))
    return [path for path in scope.editable(regular) if path not in seals]


def _wrong_with(change: Change, scope: Scope, seals: Seals) -> Iterator[Violation]:
    path = change.path
    shown = readable(path)
    if _CONTROL.search(path):
        yield Violation(
            "scope_error", path, f"{shown}: a name with control or non-text characters", "odd_name"
        )
    if "160000" in (change.mode, change.old_mode):
        yield Violation("scope_error", path, f"{shown}: a submodule was changed", "submodule")
    if change.mode == "120000" and leaves_tree(path, change.link):
        message = f"{shown}: a symlink that leaves the tree ({change.link[:80]!r})"
        yield Violation("scope_error", path, message, "symlink_escape")
    if change.mode == "120000" and any(map(is_dot_git, change.link.split("/"))):
        message = f"{shown}: a symlink into a repository ({change.link[:80]!r})"
        yield Violation("scope_error", path, message, "symlink_escape")
    if path in seals:
        yield Violation(
            "sealed_file_violation", path, f"{shown} is sealed and was {change.kind}", _how(change)
        )
    elif shadowed := shadows(change, seals):
        message = f"{shown} would be imported by the benchmark in place of {shadowed}"
        yield Violation("sealed_file_violation", path, message, "shadow_module")
    elif path in scope.hidden:
        yield Violation("scope_error", path, f"{shown} is hidden from candidates", "hidden_file")
    elif not scope.matches(path):
        yield Violation("scope_error", path, f"{shown} is not in scope", "out_of_scope")


def _how(change: Change) -> str:
    return {
        "added": "sealed_file_planted",
        "modified": "sealed_file_edited",
        "deleted": "sealed_file_deleted",
    }[change.kind]


def leaves_tree(path: str, link: str) -> bool:
    """Whether a symlink at `path` may lead out of the tree."""
    if link.startswith("/"):
        return True
    parts = [part for part in link.split("/") if part not in ("", ".")]
    ups = len(parts) - len([part for part in parts if part != ".."])
    # ".." after a name could climb out through another symlink, so only leading ones are followed.
    return any(part == ".." for part in parts[ups:]) or ups > path.count("/")


def shadows(change: Change, seals: Seals) -> str:
    """The module that a new file would come before, where the benchmark looks for modules."""
    if change.kind != "added":
        return ""
    folder, name = posixpath.split(change.path)
    stem, extension = posixpath.splitext(name)
    if stem == "__init__":
        folder, stem = posixpath.split(folder)
    if extension not in (".py", ".pyc", ".so", ".pyd") or folder not in seals.script_folders:
        return ""
    stem = stem.split(".")[0]
    if stem in sys.stdlib_module_names:
        return f"the standard module {stem}"
    return f"{stem}, which it imports" if stem in seals.sources.imported else ""


def _collisions(changes: Sequence[Change], base: Mapping[str, Entry]) -> Iterator[Violation]:
    """New names that only differ in case or accents' encoding from others, folders included."""
    added = {change.path for change in changes if change.kind == "added"}
    if not added:
        return
    gone = {change.path for change in changes if change.kind == "deleted"}
    seen: dict[str, str] = {}
    done: set[str] = set()
    for path in [*(path for path in base if path not in gone), *sorted(added)]:
        for place in (path, *ancestors(path)):
            if place in done:
                break
            done.add(place)
            other = seen.setdefault(_folded(place), place)
            if other != place and path in added:
                message = f"{path!r} and {other!r} are one file on some systems"
                yield Violation("scope_error", path, message, "name_collision")


def _folded(path: str) -> str:
    return path.lower() if path.isascii() else unicodedata.normalize("NFC", path).casefold()
