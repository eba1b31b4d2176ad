"""Deriving every document from the journal again, and comparing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from selfimprove.contracts.envelope import FIRST_PREV, Envelope
from selfimprove.errors import ContractError
from selfimprove.store import layout
from selfimprove.store.archive import GROWING, Anchor, archived_rows, digest_of, read_anchor
from selfimprove.store.bindings import Bindings
from selfimprove.store.checked import misfit
from selfimprove.store.files import array_bytes, write_whole
from selfimprove.store.fold import fold_one
from selfimprove.store.journal import chained, read_segment, segment_numbers
from selfimprove.store.layout import Layout
from selfimprove.store.projections import documents, rows
from selfimprove.store.state import State


@dataclass
class Derived:
    """Every document that the journal stands behind."""

    files: dict[str, bytes] = field(default_factory=dict)
    state: State = field(default_factory=State)
    unbound: list[str] = field(default_factory=list)
    """Samples that were not measured of what they are told of."""
    rows: dict[str, list[bytes]] = field(default_factory=lambda: {path: [] for path in GROWING})
    lost: list[str] = field(default_factory=list)
    """Documents whose archived rows were changed: they cannot be derived."""


def segments(root: Layout, after: int = -1, upto: int | None = None) -> Iterator[list[Envelope]]:
    """Every journal segment beyond `after`, in order."""
    for number in segment_numbers(root.journal):
        if number > after and (upto is None or number <= upto):
            yield read_segment(root.segment(number))


def derive(root: Layout, upto: int | None = None) -> Derived:
    """Fold the whole journal and render every document; raises ContractError for a bad line.

    Of a journal that was pruned: go on from its anchor. `upto`: that segment is the last.
    """
    anchor = read_anchor(root)
    derived = _from_anchor(root, anchor) if anchor else Derived()
    bindings = Bindings()
    for segment in segments(root, anchor.round if anchor else -1, upto):
        for envelope in segment:
            derived.unbound += bindings.check(derived.state, envelope)
            derived.state = fold_one(derived.state, envelope)
            more = rows(envelope)
            for path, added in zip(
                GROWING, (more.raw_data, more.events, more.attempts), strict=True
            ):
                derived.rows[path] += added
        derived.files.update({each.path: each.render() for each in documents(derived.state)})
    if derived.state.facts:
        derived.files[layout.RAW_DATA] = array_bytes(derived.rows[layout.RAW_DATA])
        derived.files[layout.EVENTS] = array_bytes(derived.rows[layout.EVENTS])
    if attempts := derived.rows[layout.ATTEMPTS]:
        derived.files[layout.ATTEMPTS] = b"".join(row + b"\n" for row in attempts)
    for path in derived.lost:
        derived.files.pop(path, None)
    return derived


def _from_anchor(root: Layout, anchor: Anchor) -> Derived:
    derived = Derived(state=anchor.state())
    derived.files = {each.path: each.render() for each in documents(derived.state)}
    for path in GROWING:
        there = archived_rows(root, anchor, path)
        derived.rows[path] = there or []
        if there is None:
            derived.lost.append(path)
    return derived


def rebuild(root: Layout) -> list[str]:
    """Restore every document that differs from what the journal says; returns their paths."""
    derived = derive(root)
    changed = []
    for path, data in derived.files.items():
        file = root.root / path
        if not file.is_file() or file.read_bytes() != data:
            write_whole(file, data)
            changed.append(path)
    return changed


def rebuild_rows(root: Path) -> None:
    """Restore the documents that grow by rows, where one was damaged."""
    derived = derive(Layout(root))
    for path in (layout.RAW_DATA, layout.EVENTS, layout.ATTEMPTS):
        if path in derived.files:
            write_whole(root / path, derived.files[path])


def findings(root: Layout) -> list[str]:
    """What is wrong: the chain, and documents that misfit, differ, are missing or foreign."""
    try:
        anchor = read_anchor(root)
        begin = anchor.chain() if anchor else (-1, FIRST_PREV, 0)
        found = [f"state/journal/{at}: {wrong}" for at, wrong in chained(root.journal, begin)]
    except ContractError as error:
        return [str(error)]
    try:
        derived = derive(root)
    except ContractError as error:
        return [*found, str(error)]
    found += derived.unbound
    for path, data in sorted(derived.files.items()):
        file = root.root / path
        if not file.is_file():
            found.append(f"{path}: missing")
        elif (there := file.read_bytes()) != data:
            found.append(misfit(path, there) or f"{path}: differs from what the journal says")
    known = {*derived.files, *derived.lost}
    if anchor:
        found += _archived(root, anchor, derived)
        known |= anchor.documents.keys()
    return found + [
        f"{path}: a file that the journal knows nothing of" for path in _foreign(root, known)
    ]


def _archived(root: Layout, anchor: Anchor, derived: Derived) -> Iterator[str]:
    """Documents of pruned rounds: they can be told from changed ones, and not made anew."""
    for path in derived.lost:
        yield f"{path}: rows of archived rounds were changed"
    for path, digest in anchor.documents.items():
        if path in derived.files:
            continue
        file = root.root / path
        if not file.is_file():
            yield f"{path}: missing, and its round is archived"
        elif digest_of(file.read_bytes()) != digest:
            yield f"{path}: differs from what was archived"


def _foreign(root: Layout, known: set[str]) -> Iterator[str]:
    for folder in ("state", "tracking"):
        for file in sorted((root.root / folder).rglob("*.json")):
            path = file.relative_to(root.root).as_posix()
            if path not in known and not path.startswith(("state/journal/", "state/replies/")):
                yield path
