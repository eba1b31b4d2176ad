"""A Markdown document as sections of pieces, each with its line; over markdown-it-py."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from markdown_it.token import Token

_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?\n)?(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_EMPHASIS = re.compile(r"^(\*\*\*|\*\*|__|\*|_)(?=\S)(.+?)(?<=\S)\1(?=\s|:|$)")
_CHECKBOX = re.compile(r"^\[[ xX]\]\s+")
_CODE_KEY = re.compile(r"`([^`]+)`\s*:(?:\s+|$)(.*)", re.DOTALL)
_KEY = re.compile(r"([^:`\"'=|]{1,60}?)\s*:(?:\s+|$)(.*)", re.DOTALL)


@dataclass(frozen=True)
class Piece:
    """One line of prose, list item, block of code, table row or sub-heading."""

    kind: Literal["text", "item", "code", "row", "heading"]
    line: int
    """Counted from 1."""
    text: str
    """As in the source; for code without the fence."""
    cells: tuple[tuple[str, str], ...] = ()
    """Of a table row: (column heading, cell)."""
    depth: int = 0
    """Of a list item: 1 for the outermost list."""

    @property
    def bold_key(self) -> bool:
        """Whether the line begins with an emphasised word, as labels do."""
        return _EMPHASIS.match(self.text) is not None

    def split_key(self) -> tuple[str, str]:
        """`(key, value)` of `**Key**: value`, `Key: value`; key is empty where there is none."""
        marked = _EMPHASIS.match(self.text)
        if marked and (marked[2].endswith(":") or self.text[marked.end() :].startswith(":")):
            return marked[2].rstrip(": "), self.text[marked.end() :].lstrip(": \t")
        found = _CODE_KEY.fullmatch(self.text) or _KEY.fullmatch(self.text)
        return (found[1].strip(), found[2].strip()) if found else ("", self.text)


@dataclass
class Section:
    """What stands under one heading, up to the next heading of its level or above."""

    title: str
    line: int
    level: int
    body: int = 1
    """The first line below the heading."""
    pieces: list[Piece] = field(default_factory=list)
    end: int = 0
    """The line after its last."""


def normal_text(text: str) -> str:
    """The text with newlines as `\\n`, without a byte order mark, ending in one newline."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return text if text.endswith("\n") or not text else text + "\n"


def without_comments(text: str) -> str:
    """The text without `<!-- comments -->`, its lines kept in number."""
    return _COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), text)


def without_front_matter(text: str) -> str:
    """The text with a leading YAML block blanked out, its lines kept in number."""
    return _FRONT_MATTER.sub(lambda block: "\n" * block[0].count("\n"), text, count=1)


def tokens_of(text: str) -> list[Token]:
    """Parse CommonMark with tables."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table").parse(text)


def sections_of(text: str) -> list[Section]:
    """All headings with their pieces, in order; the first has no title and level 0.

    A piece belongs to the nearest heading above it; nesting is the reader's to see from levels.
    """
    tokens = tokens_of(without_front_matter(text))
    sections = [Section("", 1, 0)]
    walk = _Walk()
    for number, token in enumerate(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            title = plain(tokens[number + 1].content)
            sections[-1].end = token.map[0] + 1
            level = int(token.tag[1])
            sections.append(Section(title, token.map[0] + 1, level, token.map[1] + 1))
        sections[-1].pieces.extend(walk.step(token))
    sections[-1].end = text.count("\n") + 2
    return sections


class _Walk:
    """Turns tokens into pieces, keeping track of the list, table or heading it is inside."""

    def __init__(self) -> None:
        self.depth = 0
        self.fresh_item = self.in_heading = self.in_cell = False
        self.columns: list[str] = []
        self.row: list[str] = []
        self.row_line = 0

    def step(self, token: Token) -> Iterator[Piece]:
        """What this token adds."""
        line = token.map[0] + 1 if token.map else 0
        match token.type:
            case "fence" | "code_block":
                first = line + (token.type == "fence")
                yield Piece("code", first, token.content.rstrip("\n"), depth=self.depth)
            case "html_block":
                yield from self._lines(token.content, line)
            case "inline" if self.in_cell:
                self.row.append(token.content.strip())
            case "inline" if not self.in_heading:
                yield from self._lines(token.content, line)
            case "thead_close":
                self.columns = self.row
            case "tr_open":
                self.row, self.row_line = [], line
            case "tr_close" if self.columns:
                cells = tuple(zip(self.columns, self.row, strict=False))
                yield Piece("row", self.row_line, " | ".join(self.row), cells)
            case kind:
                self._enter_or_leave(kind)

    def _enter_or_leave(self, kind: str) -> None:
        match kind:
            case "bullet_list_open" | "ordered_list_open":
                self.depth += 1
            case "bullet_list_close" | "ordered_list_close":
                self.depth -= 1
            case "list_item_open":
                self.fresh_item = True
            case "heading_open" | "heading_close":
                self.in_heading = kind == "heading_open"
            case "th_open" | "td_open" | "th_close" | "td_close":
                self.in_cell = kind.endswith("open")
            case "table_open":
                self.columns = []

    def _lines(self, content: str, line: int) -> Iterator[Piece]:
        for offset, source in enumerate(without_comments(content).split("\n")):
            if words := source.strip():
                kind: Literal["item", "text"] = "item" if self.fresh_item else "text"
                yield Piece(kind, line + offset, _CHECKBOX.sub("", words), depth=self.depth)
                self.fresh_item = False


def plain(source: str) -> str:
    """A line's words: emphasis, code marks, entities and comments taken off."""
    text = without_comments(source).strip()
    text = _CODE_SPAN.sub(lambda span: span[2].strip(), text)
    if whole := _EMPHASIS.fullmatch(text):
        text = whole[2]
    return html.unescape(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text)).strip()


def code_spans(source: str) -> list[str]:
    """The contents of `code spans`, in order."""
    return [span[2].strip() for span in _CODE_SPAN.finditer(source)]
