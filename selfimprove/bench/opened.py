"""Which files of a tree a run opened, told by their access times.

The tree must be a private copy on its own file system: an overlay's lower layer keeps no access
times. Set far back, a file's access time moves at the first read even where the file system
updates it lazily (relatime); where it never does (noatime) nothing can be learnt, and that is said.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_LONG_AGO_NS = 1_000_000_000 * 10**9  # September 2001
_BYTECODE = re.compile(r"(?P<folder>.*/|)__pycache__/(?P<module>[^/]+?)\.[^/.]+(\.opt-[12])?\.pyc")


@dataclass(frozen=True)
class Opened:
    """What was learnt: `files` (relative paths) when `known`, else `reason`."""

    files: frozenset[str]
    known: bool
    reason: str = ""


class Watch:
    """Ages every file of a private copy at the start; `opened()` says which were read since."""

    def __init__(self, tree: Path) -> None:
        self._tree = tree
        self._reason = why_unknown(tree)
        self._aged: set[str] = set()
        if not self._reason:
            self._aged = {name for name, file in _files(tree) if _age(file)}

    def opened(self) -> Opened:
        """The files read since; a module's bytecode stands for its source."""
        if self._reason:
            return Opened(frozenset(), False, self._reason)
        read = {
            name
            for name, file in _files(self._tree)
            if name in self._aged and file.lstat().st_atime_ns != _LONG_AGO_NS
        }
        sources = {_source(name) for name in read}
        return Opened(frozenset(read | (sources & self._aged)), True)


def why_unknown(tree: Path) -> str:
    """Why access times tell nothing here, or nothing; found by trying, not by reading mounts."""
    try:
        with tempfile.NamedTemporaryFile(dir=tree, prefix=".selfimprove-") as probe:
            path = Path(probe.name)
            path.write_bytes(b"?")
            _age(path)
            path.read_bytes()
            if path.stat().st_atime_ns != _LONG_AGO_NS:
                return ""
    except OSError as error:
        return f"access times cannot be set in {tree}: {error.strerror}"
    return f"the file system of {tree} keeps no access times (noatime)"


def _files(tree: Path) -> Iterator[tuple[str, Path]]:
    for folder, _, names in os.walk(tree):
        for name in names:
            file = Path(folder, name)
            if file.is_file() and not file.is_symlink():
                yield str(file.relative_to(tree)), file


def _age(file: Path) -> bool:
    """Set a file's access time far back, its modification time untouched."""
    try:
        os.utime(file, ns=(_LONG_AGO_NS, file.stat().st_mtime_ns))
    except PermissionError:
        return False  # another's file: it is not told of, rather than told wrongly
    return True


def _source(name: str) -> str:
    found = _BYTECODE.fullmatch(name)
    return f"{found['folder']}{found['module']}.py" if found else name
