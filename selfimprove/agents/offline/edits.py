"""Edits by content: whole lines that must still be there, wherever they have moved to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

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


def hunks_between(old: str, new: str) -> tuple[Hunk, ...]:
    """Give the smallest groups of whole lines that turn `old` into `new`."""
    before, after = split_lines(old), split_lines(new)
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    middle = before[head : len(before) - tail]
    wanted = after[head : len(after) - tail]
    found = []
    matcher = SequenceMatcher(None, middle, wanted, autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag != "equal":
            found.append(_anchored(before, head + i1, head + i2, "".join(wanted[j1:j2])))
    return _joined(found)


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


def _common(left: list[str], right: list[str]) -> int:
    for index, (one, other) in enumerate(zip(left, right, strict=False)):
        if one != other:
            return index
    return min(len(left), len(right))


def _anchored(before: list[str], start: int, end: int, new: str) -> Hunk:
    """A pure insertion takes a neighbouring line along, so that it can be found by content."""
    if start == end and start < len(before):
        return Hunk(start + 1, before[start], new + before[start])
    if start == end and start > 0:
        last = before[start - 1]
        gap = "" if last.endswith("\n") else "\n"
        return Hunk(start, last, last + gap + new)
    return Hunk(start + 1, "".join(before[start:end]), new)


def _joined(hunks: list[Hunk]) -> tuple[Hunk, ...]:
    """Two hunks that touch the same line become one."""
    done: list[Hunk] = []
    for hunk in hunks:
        last = done[-1] if done else None
        if last and last.line + len(split_lines(last.old)) > hunk.line:
            # only an insertion's anchor can be shared: the second hunk starts with that line
            rest = hunk.old.removeprefix(last.old)
            done[-1] = Hunk(last.line, last.old + rest, last.new.removesuffix(last.old) + hunk.new)
        else:
            done.append(hunk)
    return tuple(done)


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
