"""The OpenTelemetry SDK, set up by its own variables; needs the extra `otel`."""

from __future__ import annotations

from collections.abc import Sequence

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import (
    SERVICE_NAME,
    SERVICE_VERSION,
    OTELResourceDetector,
    Resource,
)
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import IdGenerator

from selfimprove import __version__


class GivenIds(IdGenerator):
    """Gives spans the ids that were set, so that a span made again has the same."""

    def __init__(self) -> None:
        self.trace = 1
        self.span = 1

    def generate_trace_id(self) -> int:
        """The trace that is being made."""
        return self.trace

    def generate_span_id(self) -> int:
        """The span that is about to begin."""
        return self.span


class Counted(SpanExporter):
    """An exporter that counts what arrived."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self.arrived = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send some spans."""
        result = self._exporter.export(spans)
        self.arrived += len(spans) if result is SpanExportResult.SUCCESS else 0
        return result

    def shutdown(self) -> None:
        """Send no more."""
        self._exporter.shutdown()


class Sender(BatchSpanProcessor):
    """Sends spans from a thread of its own, and counts those that it was given."""

    def __init__(self) -> None:
        self.counted = Counted(OTLPSpanExporter())
        super().__init__(self.counted)
        self.given = 0

    def on_end(self, span: ReadableSpan) -> None:
        """Take a span that has ended; drops it where too many wait."""
        super().on_end(span)
        self.given += 1 if span.context and span.context.trace_flags.sampled else 0


class Delivery:
    """Takes spans to the collector that OTEL_EXPORTER_OTLP_ENDPOINT names.

    Its provider is nobody's default: only what is told of a run is sent. Raises ValueError for a
    variable that cannot be read.
    """

    def __init__(self) -> None:
        ours = {SERVICE_NAME: "selfimprove", SERVICE_VERSION: __version__}
        theirs = OTELResourceDetector().detect().attributes  # OTEL_SERVICE_NAME and the like win
        self.ids = GivenIds()
        self._sender = Sender()
        self._provider = TracerProvider(
            resource=Resource.create(ours | dict(theirs)),
            id_generator=self.ids,
            shutdown_on_exit=False,
        )
        self._provider.add_span_processor(self._sender)
        self.tracer = self._provider.get_tracer("selfimprove", __version__)

    def flush(self) -> None:
        """Send what waits; may take long where nobody answers."""
        self._provider.force_flush()

    def close(self) -> None:
        """Send what is left, and no more; may take as long."""
        self._provider.shutdown()

    @property
    def given(self) -> int:
        """Spans that were to be sent."""
        return self._sender.given

    @property
    def lost(self) -> int:
        """Those of them that did not arrive, or have not yet."""
        return self._sender.given - self._sender.counted.arrived
