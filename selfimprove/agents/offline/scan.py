"""All ideas of a tree, found once: files that did not change are not read through again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from selfimprove.agents.offline.files import MAX_FILES, SourceFile, editable_paths, read_source
from selfimprove.agents.offline.idea import ChangeIdea
from selfimprove.agents.offline.profile import Profile
from selfimprove.agents.offline.sources import (
    config_tunables,
    native_tunables,
    python_tunables,
    rewrites,
    ruff_rules,
    rule_packs,
    user_ideas,
)

SOURCES: tuple[ModuleType, ...] = (
    python_tunables,
    config_tunables,
    native_tunables,
    rewrites,
    rule_packs,
    ruff_rules,
)
KEPT = 20_000
"""Files (times sources) whose ideas are kept in memory."""
PER_FILE = 150
"""Ideas that one source may give for one file."""


@dataclass(frozen=True)
class Scan:
    """What a tree holds."""

    files: Mapping[str, SourceFile]
    ideas: tuple[ChangeIdea, ...]
    not_actionable: tuple[str, ...] = ()


@dataclass
class Scanner:
    """Reads trees; asked from several threads, it looks at each file once."""

    _found: OrderedDict[tuple[str, str, str], tuple[ChangeIdea, ...]] = field(
        default_factory=OrderedDict
    )
    _trees: OrderedDict[tuple[Any, ...], dict[str, SourceFile]] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def scan(self, tree: Path, context: Mapping[str, Any]) -> Scan:
        """Give the ideas of every file that may be changed, the user's own among them."""
        with self._lock:
            files = self._files(tree, context)
            found = [idea for source in SOURCES for idea in self._ideas(source, files)]
        own = user_ideas.find(user_ideas.texts_of(context), files)
        asked = {idea.key for idea in own.ideas}
        merged = [*own.ideas, *(idea for idea in found if idea.key not in asked)]
        return Scan(files, tuple(merged), own.not_actionable)

    def _files(self, tree: Path, context: Mapping[str, Any]) -> dict[str, SourceFile]:
        oid = context.get("incumbent_tree")
        paths = editable_paths(tree, context)
        key = (oid, tuple(paths))
        if oid and key in self._trees:
            self._trees.move_to_end(key)
            return self._trees[key]
        shares = Profile.of(context).files
        paths.sort(key=lambda path: (-shares.get(path, 0.0), path))
        read = (read_source(tree, path) for path in paths[:MAX_FILES])
        files = {file.path: file for file in read if file is not None}
        if oid:
            self._trees[key] = files
            while len(self._trees) > 4:
                self._trees.popitem(last=False)
        return files

    def _ideas(self, source: ModuleType, files: Mapping[str, SourceFile]) -> list[ChangeIdea]:
        wanted = [file for file in files.values() if file.language in source.LANGUAGES]
        keys = {(source.NAME, file.path, file.digest): file for file in wanted}
        missing = [file for key, file in keys.items() if key not in self._found]
        if missing:
            by_path: dict[str, list[ChangeIdea]] = {file.path: [] for file in missing}
            for idea in source.find(missing):
                by_path[idea.path].append(idea)
            for file in missing:
                kept = sorted(by_path[file.path], key=lambda idea: -idea.prior)[:PER_FILE]
                self._found[source.NAME, file.path, file.digest] = tuple(kept)
        found: list[ChangeIdea] = []
        for key in keys:
            self._found.move_to_end(key)
            found += self._found[key]
        while len(self._found) > max(KEPT, len(keys)):
            self._found.popitem(last=False)
        return found
