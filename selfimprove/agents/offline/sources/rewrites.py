"""Rewrites of Python through its syntax tree: everything under rewrites/."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from selfimprove.agents.offline.codemods import Codemod, idea_of
from selfimprove.agents.offline.edits import StaleEdit
from selfimprove.agents.offline.files import SourceFile
from selfimprove.agents.offline.idea import ChangeIdea
from selfimprove.agents.offline.pymodule import PyModule
from selfimprove.agents.offline.rewrites import caching, containers, hoist, joins, loops, structure
from selfimprove.syntax import UNPARSABLE

NAME = "rewrites"
LANGUAGES = frozenset({"python"})
REWRITES: tuple[Callable[[PyModule], Iterator[Codemod]], ...] = (
    hoist.find,
    caching.find,
    containers.find,
    joins.find,
    loops.find,
    structure.find,
)


def find(files: Sequence[SourceFile]) -> list[ChangeIdea]:
    """Give an idea for every rewrite these files have a place for."""
    found: list[ChangeIdea] = []
    for file in files:
        try:
            module = PyModule(file.text)
        except UNPARSABLE:
            continue
        seen: dict[tuple[str, str], int] = {}
        for rewrite in REWRITES:
            for mod in rewrite(module):
                # two of one rule in one function are told apart by their order
                count = seen[mod.rule, mod.symbol] = seen.get((mod.rule, mod.symbol), 0) + 1
                rule = mod.rule if count == 1 else f"{mod.rule} #{count}"
                idea = _checked(file, replace(mod, rule=rule))
                found += [idea] if idea is not None else []
    return found


def _checked(file: SourceFile, mod: Codemod) -> ChangeIdea | None:
    try:
        return idea_of(file, mod)
    except StaleEdit:
        return None
