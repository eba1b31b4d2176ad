"""The sections of a goal.md and their `Key: value` lines, whichever way they are written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from selfimprove.errors import ConfigError
from selfimprove.markdown import Piece, Section, plain, sections_of

SECTIONS: Mapping[str, tuple[str, ...]] = {
    "Objective": ("objective", "objectives", "aim"),
    "Target Metric": ("target metric", "metric", "metrics", "success metric"),
    "Scope": ("scope",),
    "Benchmark": ("benchmark", "benchmarks"),
    "Guards": ("guards", "guard", "guard rails", "constraints"),
    "Phases": ("phases", "phase"),
    "Milestones": ("milestones", "milestone"),
    "Experiment Ideas": ("experiment ideas", "ideas", "experiments"),
}
SCOPE_KEYS: Mapping[str, tuple[str, ...]] = {
    "In scope": ("in scope", "editable"),
    "Out of scope": ("out of scope", "not in scope"),
    "Hidden": ("hidden",),
}
_LABEL = re.compile(r"[^\W\d][\w /-]*")
_PLACEHOLDER = re.compile(r"<[^<>]*[^\W\d_][^<>]*>")


@dataclass(frozen=True)
class Value:
    """What stands behind a key, or on its own, and where."""

    text: str
    line: int
    kind: str = "text"
    labelled: bool = True


@dataclass
class Fields:
    """The values of a section by key, and what stood there without one."""

    values: dict[str, list[Value]] = field(default_factory=dict)
    loose: list[Piece] = field(default_factory=list)

    def all(self, key: str) -> list[Value]:
        """Every value of a key that may have several."""
        return self.values.get(key, [])


@dataclass
class Part:
    """One section of a goal.md as the readers see it; `line` is 0 where it is absent."""

    path: str
    name: str
    line: int = 0
    level: int = 0
    body: int = 0
    end: int = 0
    pieces: list[Piece] = field(default_factory=list)

    def error(self, line: int, what: str, remedy: str) -> ConfigError:
        """A complaint that names file and line."""
        return ConfigError(f"{self.path} line {line}: {what}", remedy)

    def missing(self, what: str, remedy: str) -> ConfigError:
        """A complaint about something that is not there."""
        if self.line:
            return self.error(self.line, f"'## {self.name}' has no {what}", remedy)
        return ConfigError(f"{self.path}: no '## {self.name}' section", f"add one, with {remedy}")

    def checked(self, value: Value) -> Value:
        """The value, unless it is a placeholder that nobody filled in."""
        if _PLACEHOLDER.fullmatch(plain(value.text)):
            raise self.error(
                value.line, f"{plain(value.text)!r} is still the template's", "fill it in"
            )
        return value

    def one(self, fields: Fields, key: str) -> Value | None:
        """The value of a key that may stand once; lines that go on are joined."""
        values = fields.all(key)
        labelled = [value for value in values if value.labelled]
        if len(labelled) > 1:
            first, second = labelled[0], labelled[1]
            raise self.error(
                second.line, f"{key!r} was already said on line {first.line}", "keep one of the two"
            )
        if not values:
            return None
        text = " ".join(value.text for value in values)
        return Value(text, values[0].line, values[0].kind)

    def fields(self, known: Mapping[str, tuple[str, ...]]) -> Fields:
        """Sort the pieces under the section's keys."""
        return _Sorter(self, known).sort()


def match(word: str, known: Mapping[str, tuple[str, ...]]) -> str | None:
    """The key that a label or heading means, if any."""
    folded = _fold(word)
    return next((key for key, names in known.items() if folded in names), None)


def nearest(word: str, known: Mapping[str, tuple[str, ...]]) -> str | None:
    """The key that a misspelt word comes closest to."""
    names = {name: key for key, spellings in known.items() for name in spellings}
    close = get_close_matches(_fold(word), names, 1, 0.8)
    return names[close[0]] if close else None


def _fold(word: str) -> str:
    words = re.sub(r"^\s*(?:\d+[.)]\s*)+|[^\w\s]|_", " ", plain(word)).lower()
    return " ".join(words.split())


def parts_of(text: str, path: str) -> dict[str, Part]:
    """The known sections of a goal.md; every name is there, absent ones with line 0."""
    parts = {name: Part(path, name) for name in SECTIONS}
    unknown: list[Section] = []
    goal_section = current = None
    for section in sections_of(text):
        name = match(section.title, SECTIONS)
        if name:
            current = _open(parts[name], section)
        elif match(section.title, SCOPE_KEYS) and (not current or section.level <= current.level):
            current = parts["Scope"]
            current.line = current.line or section.line
            current.level = current.level or section.level
            _absorb(current, section)
        elif current and section.level > current.level:
            _absorb(current, section)
        else:
            current = None
            unknown.append(section)
            if _fold(section.title) == "goal" and section.pieces:
                goal_section = section
    if goal_section and not parts["Objective"].line:
        _open(parts["Objective"], goal_section)
    _refuse_misspelt(unknown, parts)
    return parts


def _open(part: Part, section: Section) -> Part:
    if part.line:
        raise part.error(
            section.line, f"a second '## {part.name}'; the first is line {part.line}", "join them"
        )
    part.line, part.level = section.line, section.level
    part.body, part.end = section.body, section.end
    part.pieces.extend(section.pieces)
    return part


def _absorb(part: Part, section: Section) -> None:
    part.end = section.end
    part.pieces.append(Piece("heading", section.line, section.title))
    part.pieces.extend(section.pieces)


def _refuse_misspelt(unknown: Iterable[Section], parts: Mapping[str, Part]) -> None:
    for section in unknown:
        meant = nearest(section.title, SECTIONS) if section.title else None
        if meant and not parts[meant].line:
            raise parts[meant].error(
                section.line, f"no section {section.title!r} is known", f"write '## {meant}'"
            )


class _Sorter:
    """Walks a section's pieces and files them under its keys."""

    def __init__(self, part: Part, known: Mapping[str, tuple[str, ...]]) -> None:
        self.part, self.known = part, known
        self.out = Fields()
        self.key: str | None = None
        self.open = self.skipping = False

    def sort(self) -> Fields:
        for piece in self.part.pieces:
            if piece.kind == "heading":
                self._heading(piece)
            elif not self.skipping:
                self._piece(piece)
        return self.out

    def _heading(self, piece: Piece) -> None:
        self.key = match(piece.text, self.known)
        self.open, self.skipping = True, self.key is None
        if self.skipping and nearest(piece.text, self.known):
            raise self._unknown(piece, piece.text)

    def _piece(self, piece: Piece) -> None:
        if piece.kind == "row":
            for column, cell in self._cells(piece):
                self._add(column, cell, piece, True)
            return
        if piece.kind != "code":
            label, value = self._label(piece)
            if key := match(label, self.known):
                self.key, self.open = key, not value
                if value:
                    self._add(key, value, piece, True)
                return
            if label and self._is_label(piece, label):
                raise self._unknown(piece, label)
        goes_on = piece.kind in ("item", "code") or piece.depth > 0 or self.open
        if self.key and goes_on:
            self._add(self.key, piece.text, piece, False)
        else:
            self.out.loose.append(piece)

    def _label(self, piece: Piece) -> tuple[str, str]:
        """A line's key and value; `**Out of scope**` alone opens a list as a heading does."""
        if piece.text.startswith("`"):
            return "", piece.text
        bare = piece.kind == "text" and not piece.depth
        awaited = self.open and not self.out.all(self.key or "")  # the key's own value, any word
        if (piece.bold_key or (bare and not awaited)) and match(piece.text, self.known):
            return piece.text, ""
        return piece.split_key()

    def _is_label(self, piece: Piece, label: str) -> bool:
        """A line that says `Word: value` and is not prose with a colon in it."""
        if not _LABEL.fullmatch(plain(label)) or "/" in label:
            return False
        return piece.bold_key or piece.kind == "item" or nearest(label, self.known) is not None

    def _cells(self, piece: Piece) -> Iterator[tuple[str, str]]:
        """A row of `Key | value`, or of a table whose columns are the keys."""
        by_column = [(match(column, self.known), cell) for column, cell in piece.cells]
        if any(key for key, _ in by_column):
            yield from ((named, cell) for named, cell in by_column if named and cell)
        elif len(piece.cells) >= 2:
            first = match(piece.cells[0][1], self.known)
            if not first:
                raise self._unknown(piece, piece.cells[0][1])
            yield first, piece.cells[1][1]

    def _add(self, key: str, text: str, piece: Piece, labelled: bool) -> None:
        value = self.part.checked(Value(text, piece.line, piece.kind, labelled))
        self.out.values.setdefault(key, []).append(value)

    def _unknown(self, piece: Piece, word: str) -> ConfigError:
        near = nearest(word, self.known)
        remedy = f"did you mean {near!r}?" if near else f"its lines are {', '.join(self.known)}"
        return self.part.error(
            piece.line, f"{plain(word)!r} is no line of '## {self.part.name}'", remedy
        )
