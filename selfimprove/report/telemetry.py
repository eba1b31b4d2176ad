"""Spans of a run sent to an OpenTelemetry collector, as the SDK's own variables say.

Nothing of it may hold a run up or end it: spans are sent by a thread of the SDK's, what does not
fit is dropped, and at the end it is waited for a few seconds, no longer.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from selfimprove.agents.replies import ReplyStore
from selfimprove.errors import ConfigError, ToolError
from selfimprove.redaction import Redactor, named_like_secrets
from selfimprove.report.plain import clean, one_line
from selfimprove.report.tracing import Tracing
from selfimprove.store.archive import read_anchor
from selfimprove.store.fold import fold_one
from selfimprove.store.layout import Layout
from selfimprove.store.rebuild import segments
from selfimprove.store.state import State

if TYPE_CHECKING:
    from selfimprove.report.otlp import Delivery

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
HTTP = "http/protobuf"
CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The conventions' own switch for what models are told and say."""
FLUSH_S = 5.0
"""How long the end of a run waits for a collector."""


@dataclass(frozen=True)
class Telemetry:
    """Whose spans are sent, and by which variables."""

    environ: Mapping[str, str]
    layout: Layout
    redact: Sequence[str] = ()
    """Expressions of the settings: what matches is in no answer that is sent."""

    @property
    def wanted(self) -> str:
        """The variable that asks for spans; empty where none does, or one switches them off."""
        if self.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
            return ""
        if self.environ.get("OTEL_TRACES_EXPORTER", "").strip() not in ("otlp", ""):
            return ""
        return next((name for name in ENDPOINTS if self.environ.get(name, "").strip()), "")

    def open(self) -> tuple[Delivery, Tracing]:
        """The way to the collector, and a reader that uses it; raises ConfigError."""
        told = f"{self.wanted} is set, and no spans are sent"
        protocol = next((self.environ[name] for name in PROTOCOLS if self.environ.get(name)), HTTP)
        if protocol != HTTP:
            raise ConfigError(f"{told}: {protocol!r} is not spoken", f"set {PROTOCOLS[1]}={HTTP}")
        try:
            from selfimprove.report.otlp import Delivery
        except ImportError:
            raise ConfigError(
                f"{told}: the SDK is not there", "pip install 'selfimprove[otel]'"
            ) from None
        try:
            delivery = Delivery()
        except ValueError as error:  # a variable that the SDK cannot read
            raise ConfigError(f"{told}: {one_line(clean(str(error)), 200)}") from None
        return delivery, Tracing(delivery.tracer, delivery.ids, self._answer())

    def _answer(self) -> Callable[[str], str] | None:
        """Gives an answer that was kept, where answers are to be told; prompts are not kept."""
        if self.environ.get(CONTENT, "").strip().lower() in ("", "false", "no_content"):
            return None
        replies = ReplyStore(self.layout.replies)
        redactor = Redactor(named_like_secrets(self.environ), self.redact)

        def answer(key: str) -> str:
            with suppress(OSError):
                if kept := replies.get(key):
                    return _as_message(redactor.text(json.dumps(kept.reply.output)))
            return ""

        return answer


def _as_message(text: str) -> str:
    """An answer as the conventions have it."""
    part = {"type": "text", "content": text}
    return json.dumps([{"role": "assistant", "parts": [part], "finish_reason": "stop"}])


@contextmanager
def sending(telemetry: Telemetry, say: Callable[[str], None]) -> Iterator[Sequence[Tracing]]:
    """One reader of messages that sends their spans as they come, or none where nobody asked."""
    if not telemetry.wanted:
        yield ()
        return
    with _overheard() as heard:
        try:
            delivery, tracing = telemetry.open()
        except ConfigError as error:
            say(str(error))
            yield ()
            return
        heard.first = ""  # of a variable that it takes another way: no span is lost by it
        try:
            yield (tracing,)
        finally:
            tracing.close()
            heard.stays = not _closed(delivery)
            if delivery.lost:
                say(_lost(delivery, telemetry, heard.first))


def exported(telemetry: Telemetry) -> int:
    """Send the spans of the whole journal, once more or for the first time; gives how many.

    Raises ConfigError where they cannot be sent from here, ToolError where nobody takes them.
    """
    if not telemetry.wanted:
        raise ConfigError("no collector is named", f"set {ENDPOINTS[1]}=http://HOST:4318")
    anchor = read_anchor(telemetry.layout)
    state, after = (anchor.state(), anchor.round) if anchor else (State(), -1)
    with _overheard() as heard:
        delivery, tracing = telemetry.open()
        for segment in segments(telemetry.layout, after):
            for envelope in segment:
                state = fold_one(state, envelope)
                tracing(envelope, state)
            delivery.flush()  # so that no more wait than there is room for
            if delivery.lost:
                break
        tracing.close()
        delivery.close()
        if delivery.lost:
            raise ToolError(_lost(delivery, telemetry, heard.first))
    return delivery.given


def _lost(delivery: Delivery, telemetry: Telemetry, why: str) -> str:
    told = f"{delivery.lost} of {delivery.given} spans were not sent"
    why = why or f"no answer within {FLUSH_S:g} s"
    return f"{told}: {why}; is the collector of {telemetry.wanted} there?"


def _closed(delivery: Delivery) -> bool:
    """Send what is left; False where that takes too long, and is left to end by itself."""
    thread = threading.Thread(target=delivery.close, name="spans", daemon=True)
    thread.start()
    thread.join(FLUSH_S)
    return not thread.is_alive()


class _Heard(logging.Handler):
    """What the SDK complained about first, instead of lines on the terminal."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.first = ""
        self.stays = False
        """It may go on to complain while the process ends."""

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the first."""
        with suppress(TypeError, ValueError):  # arguments that do not fit their text
            self.first = self.first or one_line(clean(record.getMessage()), 200)


@contextmanager
def _overheard() -> Iterator[_Heard]:
    logger, heard = logging.getLogger("opentelemetry"), _Heard()
    before, logger.propagate = logger.propagate, False
    logger.addHandler(heard)
    try:
        yield heard
    finally:
        if not heard.stays:
            logger.removeHandler(heard)
            logger.propagate = before
