"""A run's journal as spans: run > round > step > agent call, measurement or other effect.

Each start of a run is a trace of its own, and so is the set-up before it; what a round that was
taken up had done before belongs to the trace of then. Moments are those of the journal, and ids
follow from the run's id and its lines' numbers: spans made again are the same ones.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Protocol

from selfimprove.contracts.envelope import Envelope
from selfimprove.report import telling
from selfimprove.report.telling import Attributes, Told
from selfimprove.store.state import State

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

RUN, ROUND, STEP, SETUP = "run", "round", "step", "setup"
CUT_OFF = "interrupted"


class Ids(Protocol):
    """Gives the spans that are begun their ids."""

    trace: int
    span: int


class Tracing:
    """Begins and ends spans as messages come; an observer of a run, or a reader of its journal."""

    def __init__(self, tracer: Tracer, ids: Ids, answer: Callable[[str], str] | None = None):
        self._tracer = tracer
        self._ids = ids
        self._answer = answer
        """Gives the answer kept under a key, where answers are to be told."""
        self._open: dict[str, Span] = {}
        """From the outermost on."""
        self._last = ""

    def __call__(self, envelope: Envelope, state: State) -> None:
        """Take up one message, just folded into `state`."""
        if envelope.type == "control":
            self._control(envelope, state)
        elif envelope.type in ("tool_call", "tool_result"):
            if envelope.correlation_id.startswith(f"{SETUP}/") and SETUP not in self._open:
                self._first(SETUP, "selfimprove.setup", envelope, state)
            if self._open:
                self._effect(envelope)
        self._last = envelope.timestamp

    def close(self) -> None:
        """End whatever is open as cut off, at the last message that came."""
        for key in reversed(list(self._open)):
            self._end(key, self._last, failed="" if key == SETUP else CUT_OFF)

    def _control(self, envelope: Envelope, state: State) -> None:
        event = str(envelope.payload.get("event"))
        if event == "run_opened":
            self._first(RUN, "selfimprove.run", envelope, state)
        elif event == "run_begun":
            self.close()  # a set-up that was begun before was not finished
        elif RUN not in self._open:
            if event == "round_started":  # of a journal whose first rounds were pruned
                self._first(RUN, "selfimprove.run", envelope, state)
                self._round(envelope, state)
        elif event == "round_started":
            self._round(envelope, state)
        elif event == "step_started":
            self._step(envelope, state)
        elif event == "step_completed":
            self._end(STEP, envelope.timestamp)
        elif event == "checkpoint":
            self._end_round(envelope, state)
        elif event == "stopped":
            self._end_round(envelope, state)
            self._end(RUN, envelope.timestamp, telling.of_stop(state))
        elif (told := telling.of_event(envelope.payload)) is not None:
            self._inner().add_event(event, told, nanoseconds(envelope.timestamp))

    def _first(self, key: str, name: str, envelope: Envelope, state: State) -> None:
        """Begin a trace; whatever is still open was done, or cut off with the process before."""
        self.close()
        self._ids.trace = _number(f"{envelope.trace_id}/{envelope.seq}", 16)
        self._begin(key, Told(name, telling.of_run(state)), envelope)

    def _round(self, envelope: Envelope, state: State, *, resumed: bool = False) -> None:
        number = state.number
        told = telling.ours({"round": number, "resumed": resumed or None})
        self._begin(ROUND, Told(f"round {number}", told), envelope, RUN)

    def _step(self, envelope: Envelope, state: State) -> None:
        if ROUND not in self._open:
            self._round(envelope, state, resumed=True)
        self._end(STEP, envelope.timestamp)  # a step that sent the round back says no more
        step = envelope.payload["step"]
        told = telling.ours({"round": state.number, "step": step})
        self._begin(STEP, Told(str(step), told), envelope, ROUND)

    def _end_round(self, envelope: Envelope, state: State) -> None:
        """A round ends with its segment; one that is stopped goes on in another trace."""
        for key in [key for key in self._open if key not in (RUN, ROUND)]:
            self._end(key, envelope.timestamp, failed=CUT_OFF)
        if ROUND in self._open and state.round:
            self._end(ROUND, envelope.timestamp, telling.of_round(state.round))

    def _effect(self, envelope: Envelope) -> None:
        key, payload = envelope.correlation_id, envelope.payload
        if envelope.type == "tool_call":
            self._end(key, envelope.timestamp, failed=CUT_OFF)
            self._begin(key, telling.of_call(payload), envelope, self._inmost())
            return
        if key not in self._open:  # booked after its process was lost: no moment is known
            asked = {"tool": payload["tool"], "args": payload["result"]}
            self._begin(key, telling.of_call(asked), envelope, self._inmost())
        told = telling.of_result(payload) | self._said(envelope)
        self._end(key, envelope.timestamp, told, telling.failure(payload))

    def _said(self, envelope: Envelope) -> Attributes:
        """An agent's answer, where answers are to be told."""
        reply = envelope.payload["result"].get("reply")
        found = self._answer(reply) if self._answer and reply else ""
        return {"gen_ai.output.messages": found} if found else {}

    def _inmost(self) -> str:
        return next(key for key in (STEP, ROUND, SETUP, RUN) if key in self._open)

    def _inner(self) -> Span:
        return self._open[self._inmost()]

    def _begin(self, key: str, told: Told, at: Envelope, parent: str = "") -> None:
        from opentelemetry.context import Context
        from opentelemetry.trace import SpanKind, set_span_in_context

        self._ids.span = _number(f"{self._ids.trace}/{at.seq}/{key}", 8)
        within = Context()  # never what the process itself may be traced in
        self._open[key] = self._tracer.start_span(
            told.name,
            set_span_in_context(self._open[parent], within) if parent else within,
            SpanKind.CLIENT if told.remote else SpanKind.INTERNAL,
            told.attributes,
            start_time=nanoseconds(at.timestamp),
        )

    def _end(
        self, key: str, at: str, attributes: Attributes | None = None, failed: str = ""
    ) -> None:
        from opentelemetry.trace import Status, StatusCode

        span = self._open.pop(key, None)
        if span is None:
            return
        span.set_attributes(attributes or {})
        if failed:
            span.set_attribute("error.type", failed)
            span.set_status(Status(StatusCode.ERROR, failed))
        span.end(nanoseconds(at))


def nanoseconds(timestamp: str) -> int:
    """A moment of the journal, which is exact to the millisecond, as spans have it."""
    return round(datetime.fromisoformat(timestamp).timestamp() * 1000) * 1_000_000


def _number(text: str, size: int) -> int:
    """An id of so many bytes; never 0, which would be none."""
    return int.from_bytes(sha256(text.encode()).digest()[:size]) or 1
