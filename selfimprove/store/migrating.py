"""A record of an earlier version becomes one of this: on a copy, and the old one is kept.

The copy is made and checked under another name beside the root; `<root>.migrated` is the name of a
whole one. Then the root is renamed to `<root>.old`, and the copy to the root: a process that dies
between the two leaves what `finish` ends.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from selfimprove.contracts.envelope import FIRST_PREV, Envelope
from selfimprove.errors import ContractError
from selfimprove.store.archive import read_anchor
from selfimprove.store.files import sync_folder, write_whole
from selfimprove.store.fold import fold_one
from selfimprove.store.journal import digest, encode, is_checkpoint, segment_numbers
from selfimprove.store.layout import Layout
from selfimprove.store.rebuild import findings, rebuild, segments
from selfimprove.store.record import is_saved_as
from selfimprove.store.state import State
from selfimprove.store.upgrades import upgraded


def is_old(root: Layout) -> bool:
    """Whether an earlier version wrote this record, and it can be migrated; reads all of it."""
    if read_anchor(root) is not None:
        return False  # what it was pruned to is a state as that version folded it
    try:
        return any(changed for _, _, changed in _upgraded(root))
    except ContractError:
        return False


def migrate(root: Layout) -> Path | None:
    """Migrate a record that an earlier version wrote; returns where the old one is kept.

    None where nothing about it is old. Raises ContractError where the migrated one is not sound:
    then nothing was changed. The root's lock is held by the caller.
    """
    if not is_old(root):
        return None
    making = Layout(_beside(root, "migrating"))
    shutil.rmtree(making.root, ignore_errors=True)
    shutil.copytree(root.root, making.root, symlinks=True, ignore=_not_ours)
    for number, lines, changed in _upgraded(root):
        if changed:
            whole = b"".join(encode(line) + b"\n" for line in lines)
            write_whole(making.segment(number), whole)
    rebuild(making)
    if wrong := findings(making):
        shutil.rmtree(making.root)
        raise ContractError(
            f"{root.root}: written by an earlier version, and not sound when migrated: {wrong[0]}",
            "go on with the version that wrote it; nothing was changed",
        )
    making.root.rename(_beside(root, "migrated"))
    return _swap(root)


def finish(root: Layout) -> Path | None:
    """End a migration that was cut off between its two renames; returns where the old one is."""
    if not _beside(root, "migrated").is_dir():
        return None
    return _swap(root)


def _swap(root: Layout) -> Path:
    whole, old = _beside(root, "migrated"), _beside(root, "old")
    if root.root.is_dir():
        number = 1
        while old.exists():
            number += 1
            old = _beside(root, f"old-{number}")
        root.root.rename(old)
    whole.rename(root.root)
    sync_folder(root.root.parent)
    return old


def _beside(root: Layout, what: str) -> Path:
    return root.root.with_name(f"{root.root.name}.{what}")


def _not_ours(_folder: str, names: list[str]) -> list[str]:
    """Who holds the root stays with it."""
    return [name for name in names if name in ("lock", "lock.json", "stop")]


def _upgraded(root: Layout) -> Iterator[tuple[int, list[Envelope], bool]]:
    """Every segment as it would be written now, chained anew, and whether it is another."""
    state, prev = State(), FIRST_PREV
    for number, lines in zip(segment_numbers(root.journal), segments(root), strict=True):
        now = []
        for line in lines:
            new = upgraded(state, line)
            state, new = _folded(state, new)
            new = new.model_copy(update={"prev": prev})
            prev = digest(encode(new))
            now.append(new)
        yield number, now, now != lines


def _folded(state: State, envelope: Envelope) -> tuple[State, Envelope]:
    """The state after a line, and the line; a checkpoint holds the state that lines now fold to."""
    state, payload = fold_one(state, envelope), envelope.payload
    if not is_checkpoint(envelope):
        return state, envelope
    try:
        if is_saved_as(state, payload["state"], envelope.id):
            return state, envelope
    except ContractError:
        pass  # as an earlier version saved it
    return state, envelope.model_copy(update={"payload": {**payload, "state": state.document()}})
