"""Edits by content: whole lines that must still be there, wherever they have moved to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_LINE = re.compile(r"[^\n]*\n|[^\n]+")


class StaleEdit(ValueError):  # noqa: N818 - it says what is wrong with an edit
    """What an edit wants to replace is no longer there."""


@dataclass(frozen=True)
class Hunk:
    """Whole lines and what stands there instead."""

    line: int
    """Where `old` began when the edit was made, from 1; a hint, not a promise."""
    old: str
    new: str


@dataclass(frozen=True)
class Splice:
    """A span of characters and what stands there instead."""

    start: int
    end: int
    new: str


def split_lines(text: str) -> list[str]:
    """Split at newlines alone, keeping them, unlike str.splitlines."""
    return _LINE.findall(text)


def splice(text: str, splices: Iterable[Splice]) -> str:
    """Apply spans that do not overlap; raises StaleEdit where two do."""
    done, at = [], 0
    for part in sorted(splices, key=lambda part: (part.start, part.end)):
        if part.start < at:
            raise StaleEdit("two edits of one change overlap")
        done += [text[at : part.start], part.new]
        at = part.end
    return "".join([*done, text[at:]])


def hunks_of(text: str, splices: Iterable[Splice]) -> tuple[Hunk, ...]:
    """Widen spans to whole lines, those that share a line together; raises StaleEdit."""
    groups: list[tuple[int, int, list[Splice]]] = []
    for part in sorted(splices, key=lambda part: (part.start, part.end)):
        start, end = _whole_lines(text, part)
        if groups and start < groups[-1][1]:
            first, last, parts = groups[-1]
            groups[-1] = (first, max(last, end), [*parts, part])
        else:
            groups.append((start, end, [part]))
    found = []
    for start, end, parts in groups:
        moved = [Splice(p.start - start, p.end - start, p.new) for p in parts]
        old = text[start:end]
        new = splice(old, moved)
        if new != old:
            found.append(Hunk(text.count("\n", 0, start) + 1, old, new))
    return tuple(found)


def apply_hunks(text: str, hunks: Sequence[Hunk]) -> str:
    """Make the edits where their old lines stand now; raises StaleEdit where they do not."""
    lines = split_lines(text)
    taken: list[tuple[int, int, str]] = []
    for hunk in hunks:
        old = split_lines(hunk.old)
        at = _nearest(lines, old, hunk.line - 1, taken)
        taken.append((at, at + len(old), hunk.new))
    for start, end, new in sorted(taken, reverse=True):
        lines[start:end] = [new]
    return "".join(lines)


def _whole_lines(text: str, part: Splice) -> tuple[int, int]:
    """Where the lines begin and end that a span touches, never none: they are found by content."""
    start = text.rfind("\n", 0, part.start) + 1
    if part.start == part.end == len(text) == start and start:
        start = text.rfind("\n", 0, start - 1) + 1  # added at the very end: after the last line
    if start < part.end and start == part.start and text[part.end - 1] == "\n":
        return start, part.end
    newline = text.find("\n", part.end)
    return start, len(text) if newline < 0 else newline + 1


def _nearest(
    lines: list[str], old: list[str], hint: int, taken: Sequence[tuple[int, int, str]]
) -> int:
    found = [
        at
        for at in range(len(lines) - len(old) + 1)
        if lines[at : at + len(old)] == old
        and all(at >= end or at + len(old) <= start for start, end, _ in taken)
    ]
    if not old or not found:
        shown = old[0].strip() if old else ""
        raise StaleEdit(f"line {hint + 1} no longer reads {shown!r}")
    return min(found, key=lambda at: abs(at - hint))
