"""Following a run from another process: new journal lines, each with the state it leads to."""

from __future__ import annotations

from selfimprove.contracts.envelope import Envelope
from selfimprove.store.fold import fold_one
from selfimprove.store.journal import decode, is_checkpoint, last_checkpoint, segment_numbers
from selfimprove.store.layout import Layout
from selfimprove.store.record import envelopes
from selfimprove.store.state import State


class Tail:
    """Reads on where it left off; the first poll gives the whole of the last segment."""

    def __init__(self, root: Layout) -> None:
        self._root = root
        self._number = -1
        self._offset = 0
        self._closed = False
        self.state = State()
        self._start()

    def _start(self) -> None:
        """Begin at the last segment whose predecessor ends in a checkpoint."""
        numbers = segment_numbers(self._root.journal)
        for position in range(len(numbers) - 1, -1, -1):
            self._number = numbers[position]
            if position == 0:
                return
            saved = last_checkpoint(envelopes(self._root, numbers[position - 1]))
            if saved is not None:
                where = f"{self._root.segment(numbers[position - 1])}: checkpoint"
                self.state = State.parse(saved, where)
                return

    def poll(self) -> list[tuple[Envelope, State]]:
        """What was journaled since the last call."""
        if self._number < 0:
            self._start()
        found: list[tuple[Envelope, State]] = []
        while self._number >= 0:
            found += self._read_on()
            following = self._number + 1
            if not (self._closed and self._root.segment(following).exists()):
                return found
            self._number, self._offset, self._closed = following, 0, False
        return found

    def _read_on(self) -> list[tuple[Envelope, State]]:
        path = self._root.segment(self._number)
        with path.open("rb") as file:
            file.seek(self._offset)
            data = file.read()
        data = data[: data.rfind(b"\n") + 1]  # a line counts once its newline is there
        self._offset += len(data)
        found = []
        for line in data.splitlines():
            envelope = decode(line, str(path))
            self.state = fold_one(self.state, envelope)
            self._closed = is_checkpoint(envelope)
            found.append((envelope, self.state))
        return found
