"""Who watches a run: the live view, plain lines, JSON lines; observers `(Envelope, State) -> None`.

None of them may end a run: a terminal that has gone away is written to no more.
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import suppress
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from selfimprove.contracts.envelope import Envelope
from selfimprove.report.picture import LINES, Scene, picture
from selfimprove.report.wording import Line, line_of
from selfimprove.store.journal import encode
from selfimprove.store.state import State

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

REFRESH_PER_SECOND = 2.0


class Lines:
    """Writes text to a stream until the stream is gone."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._gone = False
        self._lock = threading.Lock()

    def write(self, text: str) -> None:
        """Write one line."""
        with self._lock:
            if self._gone:
                return
            try:
                self._stream.write(text + "\n")
                self._stream.flush()
            except (OSError, ValueError):  # a closed pipe, a terminal hung up, a closed file
                self._gone = True


class PlainLines:
    """One line for each notable event: for logs, pipes and detached runs."""

    def __init__(self, stream: TextIO) -> None:
        self._lines = Lines(stream)
        self._encoding = getattr(stream, "encoding", None) or "utf-8"

    def __call__(self, envelope: Envelope, state: State) -> None:
        """Tell one event, if it is worth a line."""
        line = line_of(envelope, state)
        if line is None:
            return
        moment = datetime.fromisoformat(envelope.timestamp).astimezone()
        text = f"{moment:%H:%M:%S}  {line.text}"
        self._lines.write(text.encode(self._encoding, "replace").decode(self._encoding))


class JsonLines:
    """Every envelope as its journal line."""

    def __init__(self, stream: TextIO) -> None:
        self._lines = Lines(stream)

    def __call__(self, envelope: Envelope, state: State) -> None:  # noqa: ARG002 (an observer's form)
        """Print one envelope."""
        self._lines.write(encode(envelope).decode())


class View:
    """The live picture of a run on a terminal, redrawn in place while it is entered."""

    def __init__(self, console: Console, rounds: int | None = None) -> None:
        from rich.live import Live

        self._console = console
        self._scene = Scene(State(), (), rounds)
        self._recent: deque[Line] = deque(maxlen=LINES)
        self._live = Live(
            self,
            console=console,
            refresh_per_second=REFRESH_PER_SECOND,
            redirect_stdout=False,
            redirect_stderr=console.stderr,  # what is said meanwhile is put above the picture
        )

    def __call__(self, envelope: Envelope, state: State) -> None:
        """Take up one event; it is drawn at the next refresh."""
        line = line_of(envelope, state)
        if line and line.tone != "faint":
            self._recent.append(line)
        self._scene = Scene(state, tuple(self._recent), self._scene.rounds)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the scene as it is now, so that clocks go on between events."""
        yield picture(self._scene, datetime.now(UTC), options.height or console.height)

    def __enter__(self) -> Self:
        self._live.start(refresh=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with suppress(OSError, ValueError):
            self._live.stop()
