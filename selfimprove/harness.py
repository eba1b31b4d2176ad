"""config/harness.md: a user's own approach families and rules for the planners."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from selfimprove.contracts.base import FAMILIES
from selfimprove.errors import ConfigError
from selfimprove.markdown import Piece, normal_text, plain, sections_of

_FAMILY_TITLES = ("families", "approach families", "custom families", "family taxonomy")
_RULE_TITLES = ("rules", "custom rules", "planner rules", "constraints")
_TAG = re.compile(r"[a-z][a-z0-9_]{0,39}")
_DASH = re.compile(r"\s+(?:--?|–|—)\s+")


@dataclass(frozen=True)
class Family:
    """One approach family: its tag and what belongs to it."""

    name: str
    description: str = ""


@dataclass(frozen=True)
class Harness:
    """What harness.md adds to the taxonomy and to the rules of the house."""

    families: tuple[Family, ...] = ()
    rules: tuple[str, ...] = ()

    @property
    def family_names(self) -> tuple[str, ...]:
        """The contract's families, then the user's own."""
        own = (family.name for family in self.families)
        return tuple(dict.fromkeys((*FAMILIES, *own)))


def parse_harness(text: str, path: str = "harness.md") -> Harness:
    """Read a harness.md; sections it does not know are a person's notes."""
    families: dict[str, Family] = {}
    rules: dict[str, None] = {}
    for section in sections_of(normal_text(text)):
        title = section.title.lower().rstrip(": ")
        if title in _FAMILY_TITLES:
            for piece in section.pieces:
                for family in _family(piece, path):
                    if family.name in families:
                        raise ConfigError(
                            f"{path} line {piece.line}: a second family {family.name!r}",
                            "give each its own name",
                        )
                    families[family.name] = family
        elif title in _RULE_TITLES:
            rules.update(dict.fromkeys(_rules(section.pieces)))
    return Harness(tuple(families.values()), tuple(rules))


def read_harness(path: Path) -> Harness:
    """Read the file; nothing is added where there is none."""
    try:
        return parse_harness(path.read_bytes().decode("utf-8-sig"), str(path))
    except FileNotFoundError:
        return Harness()
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: not UTF-8", "save the file as UTF-8") from None


def _family(piece: Piece, path: str) -> Iterator[Family]:
    """`- cache_layout: what belongs to it`, or a table row."""
    if piece.kind == "row":
        name, words = piece.cells[0][1], piece.cells[-1][1] if len(piece.cells) > 1 else ""
    elif piece.kind == "item" and piece.depth == 1:
        name, words = piece.split_key()
        if not name:
            name, *more = _DASH.split(piece.text, maxsplit=1)
            words = more[0] if more else ""
    else:
        return
    tag = re.sub(r"[\s-]+", "_", plain(name).strip().lower())
    if not _TAG.fullmatch(tag):
        raise ConfigError(
            f"{path} line {piece.line}: {plain(name)!r} cannot be a family's name",
            "write '- cache_layout: what belongs to it'",
        )
    yield Family(tag, plain(words))


def _rules(pieces: list[Piece]) -> list[str]:
    """Each list item with the lines that go on from it; code and tables as they stand."""
    rules: list[str] = []
    for piece in pieces:
        if piece.kind == "item" and piece.depth == 1:
            rules.append(piece.text)
        elif piece.depth and rules:
            rules[-1] += f" {piece.text}"
        elif piece.kind in ("text", "code"):
            rules.append(piece.text)
    return [rule.strip() for rule in rules]
