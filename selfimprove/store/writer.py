"""Writes the projections of a run as its state changes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from selfimprove.contracts.envelope import Envelope
from selfimprove.store import layout
from selfimprove.store.files import appended, remove, spliced, tail, write_whole
from selfimprove.store.projections import Rows, documents, rows
from selfimprove.store.rebuild import rebuild_rows
from selfimprove.store.state import State


class Writer:
    """Keeps the documents below one root in step with the journal."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._written: dict[str, object] = {}
        self._plans: dict[str, int] = {}

    def catch_up(self, state: State, segment: Iterable[Envelope]) -> None:
        """After a start: bring every document of the last segment up to date."""
        if not all(map(self._is_whole, (layout.RAW_DATA, layout.EVENTS, layout.ATTEMPTS))):
            rebuild_rows(self._root)
        everything = Rows([], [], [])
        for envelope in segment:
            more = rows(envelope)
            everything.raw_data.extend(more.raw_data)
            everything.events.extend(more.events)
            everything.attempts.extend(more.attempts)
        self._grow(everything)
        self._replace(state)

    def _is_whole(self, path: str) -> bool:
        """Whether a document that grows by rows ends as it is written; an index need not exist."""
        file = self._root / path
        if not file.exists():
            return path == layout.ATTEMPTS
        return tail(file, 2).endswith(b"\n" if path == layout.ATTEMPTS else b"]\n")

    def update(self, state: State, envelope: Envelope) -> None:
        """Write what one more envelope changed."""
        self._grow(rows(envelope))
        self._replace(state)

    def _replace(self, state: State) -> None:
        for document in documents(state):
            if _same(self._written.get(document.path), document.source):
                continue
            data = document.render()
            path = self._root / document.path
            if document.path in self._written or not _holds(path, data):
                write_whole(path, data)
            self._written[document.path] = document.source
        if state.round and state.round.history:
            for name in state.round.planners:
                remove(self._root / layout.plan_path(state.round.number, name))
            self._written = {
                path: source
                for path, source in self._written.items()
                if "/round_" not in path or f"/round_{state.round.number}" in path
            }

    def _grow(self, more: Rows) -> None:
        for path, added in ((layout.RAW_DATA, more.raw_data), (layout.EVENTS, more.events)):
            file = self._root / path
            if not added and file.exists():
                continue
            before = file.read_bytes() if file.exists() else b""
            after = spliced(before, added)
            if after is None:
                rebuild_rows(self._root)
            elif after != before:
                write_whole(file, after)
        if more.attempts:
            file = self._root / layout.ATTEMPTS
            before = file.read_bytes() if file.exists() else b""
            after = appended(before, more.attempts)
            if after != before:
                write_whole(file, after)


def _same(before: object, now: object) -> bool:
    """Frozen records are changed by copies, so identity tells; comparing them whole would cost."""
    return before is now or (isinstance(now, tuple) and before == now)


def _holds(path: Path, data: bytes) -> bool:
    try:
        return path.read_bytes() == data
    except OSError:
        return False
