"""A loopback OpenTelemetry collector: takes spans over OTLP/HTTP, as protobuf, and keeps them.

    with Collector() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        ...
    assert [span.name for span in collector.spans] == [...]

It needs the extra `otel`.
"""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue

from selfimprove.testing.loopback import Loopback


@dataclass(frozen=True)
class TakenEvent:
    """Something that a span was told happened."""

    name: str
    at: int
    attributes: dict[str, Any]


@dataclass(frozen=True)
class TakenSpan:
    """A span as it came over the wire; moments in nanoseconds, ids in hexadecimal."""

    name: str
    trace: str
    id: str
    parent: str
    """Empty for the first span of a trace."""
    begun: int
    ended: int
    kind: int
    attributes: dict[str, Any]
    events: tuple[TakenEvent, ...]
    failed: bool


class Collector(Loopback):
    """Takes what is posted to /v1/traces, after a while if it is told to dawdle."""

    def __init__(self, *, delay: float = 0.0, status: int = 200) -> None:
        """`delay` is in seconds, until it answers; with another `status` than 200 it refuses."""
        self.delay = delay
        self.status = status
        self.spans: list[TakenSpan] = []
        self.resources: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        """Of each request."""
        self._lock = threading.Lock()
        super().__init__(_handler(self))

    def children(self, parent: TakenSpan) -> list[TakenSpan]:
        """The spans right below one, in the order in which they began."""
        below = (span for span in self.spans if span.parent == parent.id)
        return sorted(below, key=lambda span: (span.begun, span.name))

    def take(self, body: bytes, headers: dict[str, str]) -> None:
        """Keep what one request holds."""
        request = ExportTraceServiceRequest.FromString(body)
        with self._lock:
            self.headers.append(headers)
            for group in request.resource_spans:
                self.resources.append(_values(group.resource.attributes))
                for scope in group.scope_spans:
                    self.spans += map(_span, scope.spans)


def _span(told: Any) -> TakenSpan:
    return TakenSpan(
        name=told.name,
        trace=told.trace_id.hex(),
        id=told.span_id.hex(),
        parent=told.parent_span_id.hex(),
        begun=told.start_time_unix_nano,
        ended=told.end_time_unix_nano,
        kind=told.kind,
        attributes=_values(told.attributes),
        events=tuple(
            TakenEvent(each.name, each.time_unix_nano, _values(each.attributes))
            for each in told.events
        ),
        failed=told.status.code == told.status.STATUS_CODE_ERROR,
    )


def _values(attributes: Any) -> dict[str, Any]:
    return dict(_pairs(attributes))


def _pairs(attributes: Any) -> Iterator[tuple[str, Any]]:
    for each in attributes:
        value: AnyValue = each.value
        yield each.key, getattr(value, value.WhichOneof("value") or "string_value")


def _handler(collector: Collector) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

        def do_POST(self) -> None:
            """Take some spans."""
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            time.sleep(collector.delay)
            known = self.path == "/v1/traces"
            status = collector.status if known else 404
            if status == 200:
                collector.take(body, {k.lower(): v for k, v in self.headers.items()})
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(status)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

    return Handler
