"""Paths, folders and globs as people write them in goal.md."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_WILD = frozenset("*?[")
_GLOB_SPECIAL = frozenset("*?[]\\!# ")


class Patterns:
    """A set of paths given by patterns; `path in patterns` answers.

    A pattern without wildcards is that very path and, where it is a folder, everything below; it is
    read from `prefix`, never "at any depth". With wildcards it means what it means in a .gitignore:
    `*.py` at any depth, `src/*.py` in that folder, `src/**/*.py` below it.
    """

    def __init__(self, patterns: Iterable[str], prefix: str = "") -> None:
        self.texts = tuple(text for text in (raw.strip() for raw in patterns) if text)
        self._prefix = prefix
        self._exact = {place for text in self.texts if (place := _place(text, prefix)) is not None}
        self._files = {
            place for text in self.texts if (place := _place(text, prefix)) and text[-1:] != "/"
        }

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and self.matches(path)

    def __bool__(self) -> bool:
        return bool(self.texts or self._exact)

    def plus(self, paths: Iterable[str]) -> Patterns:
        """These and some files besides, given as they are from the top."""
        more = copy(self)
        added = set(paths)
        more._exact, more._files = self._exact | added, self._files | added
        return more

    def matches(self, path: str) -> bool:
        """Whether any pattern means this file, given from the top of the repository."""
        if path in self._files or "" in self._exact:
            return True
        if any(folder in self._exact for folder in ancestors(path)):
            return True
        return self._globs is not None and self._globs.match_file(path)

    def names_exactly(self, path: str) -> bool:
        """Whether a pattern is this very path, not a folder or a glob that covers it."""
        return path in self._files

    def unmatched(self, paths: Iterable[str]) -> list[str]:
        """The patterns that mean none of these files: most likely slips of the pen."""
        known = list(paths)
        alone = ((text, Patterns([text], self._prefix)) for text in self.texts)
        return [text for text, pattern in alone if not any(path in pattern for path in known)]

    @cached_property
    def _globs(self) -> GitIgnoreSpec | None:
        lines = [_gitignore_line(text, self._prefix) for text in self.texts if _is_glob(text)]
        if not lines:
            return None
        from pathspec import GitIgnoreSpec

        return GitIgnoreSpec.from_lines(lines)


def ancestors(path: str) -> Iterator[str]:
    """The folders that hold a path, the nearest first; not the top itself."""
    at = path.rfind("/")
    while at > 0:
        yield path[:at]
        at = path.rfind("/", 0, at)


def _is_glob(text: str) -> bool:
    return not _WILD.isdisjoint(text)


def _place(text: str, prefix: str) -> str | None:
    """The path that a pattern names from the top: "" is everything, None is outside."""
    place = posixpath.normpath(posixpath.join(prefix, text.lstrip("/") or "."))
    if place == ".." or place.startswith("../"):
        return None
    return "" if place == "." else place


def _gitignore_line(text: str, prefix: str) -> str:
    anchored = "/" in text.rstrip("/")
    folder = "/" if text.endswith("/") else ""
    escaped = "".join("\\" + char if char in _GLOB_SPECIAL else char for char in prefix)
    if not anchored:
        return f"/{escaped}**/{text}" if prefix else _plain_start(text)
    place = posixpath.normpath(posixpath.join(escaped, text.lstrip("/")))
    return "/" + place + folder


def _plain_start(text: str) -> str:
    # A leading ! or # would mean "not" or "comment" to gitignore; people mean the character.
    return "\\" + text if text[0] in "!#" else text
