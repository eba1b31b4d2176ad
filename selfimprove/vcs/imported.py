"""Which modules the sealed Python files import: names that no new file may stand before."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterable

from selfimprove.syntax import UNPARSABLE, parse
from selfimprove.vcs.quarantine import Quarantine, Seen
from selfimprove.vcs.scope import Scope

MOST = 200
"""Files that are read."""


def imported_modules(
    quarantine: Quarantine, entries: Seen, files: Iterable[str], scope: Scope
) -> frozenset[str]:
    """Top-level names that these files import, less those of modules in scope."""
    python = [path for path in sorted(files) if path.endswith(".py") and path in entries]
    sealed = [path for path in python if not scope.matches(path)][:MOST]
    texts = quarantine.blobs([entries[path].oid for path in sealed])
    found = {name for text in texts.values() for name in _imports(text)}
    return frozenset(found - {_module(path) for path in entries if scope.matches(path)})


def _module(path: str) -> str:
    folder, name = posixpath.split(path)
    stem, extension = posixpath.splitext(name)
    if extension != ".py":
        return ""
    return posixpath.basename(folder) if stem == "__init__" else stem


def _imports(text: bytes) -> Iterable[str]:
    try:
        tree = parse(text)
    except UNPARSABLE:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]
