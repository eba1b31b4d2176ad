"""Deriving every document from the journal again, and comparing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from selfimprove.contracts.envelope import Envelope
from selfimprove.errors import ContractError
from selfimprove.store import layout
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


def segments(root: Layout) -> Iterator[list[Envelope]]:
    """Every journal segment, in order."""
    for number in segment_numbers(root.journal):
        yield read_segment(root.segment(number))


def derive(root: Layout) -> Derived:
    """Fold the whole journal and render every document; raises ContractError for a bad line."""
    derived = Derived()
    raw_data: list[bytes] = []
    events: list[bytes] = []
    attempts: list[bytes] = []
    bindings = Bindings()
    for segment in segments(root):
        for envelope in segment:
            derived.unbound += bindings.check(derived.state, envelope)
            derived.state = fold_one(derived.state, envelope)
            more = rows(envelope)
            raw_data += more.raw_data
            events += more.events
            attempts += more.attempts
        derived.files.update({each.path: each.render() for each in documents(derived.state)})
    if derived.state.facts:
        derived.files[layout.RAW_DATA] = array_bytes(raw_data)
        derived.files[layout.EVENTS] = array_bytes(events)
    if attempts:
        derived.files[layout.ATTEMPTS] = b"".join(row + b"\n" for row in attempts)
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
    found = [f"state/journal/{where}: {problem}" for where, problem in chained(root.journal)]
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
    return found + [
        f"{path}: a file that the journal knows nothing of" for path in _foreign(root, derived)
    ]


def _foreign(root: Layout, derived: Derived) -> Iterator[str]:
    for folder in ("state", "tracking"):
        for file in sorted((root.root / folder).rglob("*.json")):
            path = file.relative_to(root.root).as_posix()
            if path not in derived.files and not path.startswith(
                ("state/journal/", "state/replies/")
            ):
                yield path
