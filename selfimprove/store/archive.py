"""Pruned rounds: their lines are gone, their documents stay, and an anchor holds the chain.

The anchor is one file in the journal's folder: the last line that was pruned, word for word (a
checkpoint, so that the fold goes on from it), and the digest of every document that can no longer
be derived.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from selfimprove.contracts.base import Record
from selfimprove.contracts.envelope import Envelope
from selfimprove.errors import ConfigError
from selfimprove.store import journal, layout
from selfimprove.store.files import json_bytes, rows_of, write_whole
from selfimprove.store.journal import decode, digest, is_checkpoint, read_lines, segment_numbers
from selfimprove.store.layout import Layout
from selfimprove.store.state import State

ANCHOR = f"state/journal/{journal.ANCHOR}"
GROWING = (layout.RAW_DATA, layout.EVENTS, layout.ATTEMPTS)
"""Documents of which the first rows are archived, and rows are added."""
_ROUND = re.compile(r"/round_(\d+)[./]")


class Prefix(Record):
    """The archived rows at the beginning of a document."""

    rows: int
    sha256: str


class Anchor(Record):
    """What is left of pruned rounds."""

    additions: ClassVar[frozenset[str]] = frozenset()

    round: int
    """The last one that was pruned."""
    line: str
    """Its last line."""
    documents: dict[str, str] = Field(default_factory=dict)
    """Path -> SHA-256 of each document of a pruned round."""
    prefixes: dict[str, Prefix] = Field(default_factory=dict)

    def last(self) -> Envelope:
        """The line as an envelope."""
        return decode(self.line.encode(), f"{ANCHOR}: line")

    def chain(self) -> tuple[int, str, int]:
        """Where the chain goes on: the round, the digest of its last line, and that line's seq."""
        return self.round, digest(self.line.encode()), self.last().seq

    def state(self) -> State:
        """The state that the round ended with."""
        return State.parse(self.last().payload["state"], f"{ANCHOR}: line")


@dataclass(frozen=True)
class Pruned:
    """What was taken away."""

    rounds: Sequence[int]
    freed: int
    """Bytes."""


def read_anchor(root: Layout) -> Anchor | None:
    """The anchor, where anything was pruned; raises ContractError."""
    path = root.root / ANCHOR
    return Anchor.parse_json(path.read_bytes(), str(path)) if path.is_file() else None


def digest_of(data: bytes) -> str:
    """How an archived document is known again."""
    return sha256(data).hexdigest()


def archived_rows(root: Layout, anchor: Anchor, path: str) -> list[bytes] | None:
    """The archived rows of a document as they stand in it; None where they were changed."""
    wanted = anchor.prefixes.get(path, Prefix(rows=0, sha256=digest_of(b"")))
    file = root.root / path
    found = rows_of(file.read_bytes())[: wanted.rows] if file.is_file() else []
    return found if digest_of(b"\n".join(found)) == wanted.sha256 else None


def round_of_path(path: str) -> int | None:
    """The round that a document belongs to, by its path."""
    found = _ROUND.search(path)
    return int(found[1]) if found else None


def cut_for(root: Layout, keep: int) -> int:
    """The last round to prune, so that `keep` whole rounds stay; raises ConfigError for none."""
    numbers = segment_numbers(root.journal)
    closed = [n for n in numbers if _is_closed(root, n)]
    if len(closed) <= keep:
        there = f"{len(closed)} are there"
        raise ConfigError(f"{root.root}: nothing to prune: {keep} are to be kept, {there}", "")
    return closed[-keep - 1]


def _is_closed(root: Layout, number: int) -> bool:
    lines = read_lines(root.segment(number))
    return bool(lines) and is_checkpoint(decode(lines[-1], root.segment(number).name))


def write_anchor(
    root: Layout, cut: int, files: Mapping[str, bytes], rows: Mapping[str, Sequence[bytes]]
) -> None:
    """Write the anchor of everything up to a round: its documents, and rows, as derived."""
    before = read_anchor(root)
    documents = dict(before.documents) if before else {}
    for path, data in files.items():
        number = round_of_path(path)
        if number is not None and number <= cut:
            documents[path] = digest_of(data)
    anchor = Anchor(
        round=cut,
        line=read_lines(root.segment(cut))[-1].decode(),
        documents=documents,
        prefixes={
            path: Prefix(rows=len(each), sha256=digest_of(b"\n".join(each)))
            for path, each in rows.items()
        },
    )
    write_whole(root.root / ANCHOR, json_bytes(anchor.document()))


def drop_pruned(root: Layout, replies: Sequence[str]) -> Pruned:
    """Delete the lines that an anchor stands for, their replies and logs; may be begun again."""
    anchor = read_anchor(root)
    last = anchor.round if anchor else -1
    rounds = [n for n in segment_numbers(root.journal) if n <= last]
    freed = 0
    for key in replies:
        freed += _removed(root.replies / f"{key}.json")
    for number in rounds:
        logs = root.logs / f"round_{number}"
        freed += sum(path.stat().st_size for path in logs.rglob("*") if path.is_file())
        shutil.rmtree(logs, ignore_errors=True)
        freed += _removed(root.segment(number))
    return Pruned(rounds, freed)


def _removed(path: Path) -> int:
    size = path.stat().st_size if path.is_file() else 0
    path.unlink(missing_ok=True)
    return size
