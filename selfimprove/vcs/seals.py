"""Which files no candidate may change, because they make the score or decide how it is made."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass, field

from selfimprove.places import SKILLS
from selfimprove.vcs.patterns import Patterns
from selfimprove.vcs.presets import preset
from selfimprove.vcs.scope import Scope


@dataclass(frozen=True)
class SealSources:
    """What the default seals are made from; paths from the top of the repository."""

    benchmark: frozenset[str] = frozenset()
    """Files that make the score: the command's own, goal.md, guards' scripts."""
    opened: frozenset[str] = frozenset()
    """What the baseline run was seen to open."""
    imported: frozenset[str] = frozenset()
    """Top-level modules that sealed Python files import and that no candidate may change."""
    searched: frozenset[str] = frozenset()
    """Folders in which the benchmark's own process was seen to look for modules."""
    sealed: tuple[str, ...] = ()
    """Patterns of `Sealed` and `sealed_files`: these always win."""
    unsealed: tuple[str, ...] = ()
    """Patterns of `unsealed_files`."""
    prefix: str = ""


@dataclass(frozen=True)
class Seals:
    """The sealed files of a base commit, and the names that must not appear beside them."""

    paths: frozenset[str]
    """Sealed files that exist in the base, or lie uncommitted in the target."""
    known: frozenset[str]
    """Every file of the base: whatever else appears is new."""
    sources: SealSources
    scope: Scope
    _always: Patterns = field(repr=False, default_factory=lambda: Patterns(()))
    _opened: Patterns = field(repr=False, default_factory=lambda: Patterns(()))

    def __contains__(self, path: object) -> bool:
        """Whether a path is sealed; a new file is, when its name configures tests, builds, …"""
        if not isinstance(path, str):
            return False
        if path in self.known:
            return path in self.paths
        if path in self.paths or path in self._always:
            return True
        # A new conftest.py or Makefile can hijack the run from any folder in scope: naming the
        # folder is not enough, the file itself must have been named.
        opened = path in self._opened or self.scope.names_exactly(path)
        return preset(path) is not None and not opened

    @property
    def script_folders(self) -> frozenset[str]:
        """Folders from which a benchmark script imports; "" is the top."""
        scripts = (path for path in self.sources.benchmark if path.endswith(".py"))
        return self.sources.searched | {posixpath.dirname(path) for path in scripts}


def default_seals(entries: Iterable[str], scope: Scope, sources: SealSources) -> Seals:
    """The seals of a base commit, given its paths (`Quarantine.entries` will do)."""
    known = frozenset(entries)
    # what agents of later runs are told is nothing that an agent of this one may write
    always = Patterns(sources.sealed, sources.prefix).plus([SKILLS])
    opened = Patterns(sources.unsealed, sources.prefix)
    made = sources.benchmark | sources.opened

    def is_sealed(path: str) -> bool:
        if path in always:
            return True
        if path in opened:
            return False
        kind = preset(path)
        if kind == "manifest":
            return not scope.names_exactly(path)
        return (kind == "config" or path in made) and not scope.matches(path)

    paths = frozenset(path for path in known | made if is_sealed(path))
    return Seals(paths, known, sources, scope, always, opened)


def self_scored(scope: Scope, benchmark_files: Iterable[str]) -> list[str]:
    """Files in scope that also make the score: to be split, or accepted and shown as such."""
    return scope.editable(set(benchmark_files))
