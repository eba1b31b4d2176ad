"""A server on this machine that speaks each protocol for a brain of the test's."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

from selfimprove.testing.loopback import Loopback
from selfimprove.testing.models import chat, messages, responses
from selfimprove.testing.models.caching import Cache
from selfimprove.testing.models.said import (
    Brain,
    Ledger,
    Prices,
    Say,
    Tokens,
    Turn,
    count,
    halves,
)
from selfimprove.testing.models.trouble import Cut, Fail, Hang, Plan, Refuse, Trouble, never

KEY = "key-for-tests"
WIRES: dict[str, Any] = {
    "/v1/messages": messages,
    "/v1/responses": responses,
    "/v1/chat/completions": chat,
}
MODEL = "claude-haiku-5-5"


class ModelServer(Loopback):
    """Serves one brain until it is left; `ledger` is what it counted."""

    def __init__(
        self,
        brain: Brain,
        *,
        trouble: Plan = never,
        prices: Prices | None = None,
        models: tuple[str, ...] = (MODEL,),
    ) -> None:
        """`models` are those it knows; others, and other keys than KEY, are refused."""
        self.brain = brain
        self.trouble = trouble
        self.models = models
        self.ledger = Ledger(prices or Prices())
        self.caches = {path: Cache() for path in WIRES}
        self.taken = 0
        """Requests to a model that have come in."""
        self.heard: Callable[[str], object] = lambda _: None
        """Told each request to a model, as it came."""
        super().__init__(_handler(self))


def _handler(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(_Handler):
        owner = server

    return Handler


class _Handler(BaseHTTPRequestHandler):
    owner: ModelServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """The models there are, or one of them."""
        if not self._known_key():
            return
        path = self.path.partition("?")[0].rstrip("/")
        if path == "/v1/responses":  # asked for as a socket, which is not spoken here
            self._json(426, responses.error("invalid_request_error", "no sockets"))
            return
        rows = [{"id": name, "type": "model", "object": "model"} for name in self.owner.models]
        if path == "/v1/models":
            self._json(200, {"object": "list", "data": rows, "has_more": False})
            return
        name = path.removeprefix("/v1/models/")
        if name not in self.owner.models:
            self._json(404, messages.error("not_found_error", f"model: {name}"))
            return
        created = {"display_name": name, "created_at": "2026-01-01T00:00:00Z", "created": 1}
        self._json(200, {**rows[self.owner.models.index(name)], **created, "owned_by": "tests"})

    def do_POST(self) -> None:
        """A message, a response, or a chat completion."""
        sent = self.rfile.read(int(self.headers["content-length"]))
        self.owner.heard(sent.decode())
        body = json.loads(sent)
        if not self._known_key():
            return
        path = self.path.partition("?")[0]
        wire = WIRES[path]
        if body["model"] not in self.owner.models:
            self._json(404, wire.error("not_found_error", f"model: {body['model']}"))
            return
        with self.owner.ledger.lock:
            self.owner.taken += 1
            number = self.owner.taken
        trouble = self.owner.trouble(number)
        if isinstance(trouble, Refuse):
            with self.owner.ledger.lock:
                self.owner.ledger.refused += 1
            self._json(trouble.status, wire.error(trouble.kind, trouble.message), trouble.headers)
            return
        if isinstance(trouble, Hang):
            time.sleep(trouble.seconds)
        turn = wire.turn_of(body)
        read, written = self.owner.caches[path].read(
            wire.blocks_of(body), last="cache_control" in body or wire is not messages
        )
        if wire is not messages:  # writing costs nothing more there
            read = Tokens(read.input + read.cache_write, read.cache_read)
        say = self.owner.brain(turn)
        assert body.get("stream"), "models are always asked to stream"
        events = list(_events(wire, turn, say, read))
        self.owner.caches[path].keep(written)
        self._stream(events, trouble, (turn, say, read))

    def _stream(
        self,
        events: list[bytes],
        trouble: Trouble,
        about: tuple[Turn, Say, Tokens],
    ) -> None:
        turn, say, read = about
        broken = isinstance(trouble, Cut | Fail)
        sent, output = _half(events, say) if broken else (events, _paid(say))
        self.owner.ledger.book(turn, read, output)
        if broken:
            with self.owner.ledger.lock:
                self.owner.ledger.cut += 1
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        try:
            for event in sent:
                self._chunk(event)
            if isinstance(trouble, Fail):
                error = json.dumps(messages.error(trouble.kind, "in the middle"))
                self._chunk(f"event: error\ndata: {error}\n\n".encode())
            if not isinstance(trouble, Cut):
                self.wfile.write(b"0\r\n\r\n")
        except OSError:
            pass  # who asked has gone
        self.close_connection = self.close_connection or broken

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _known_key(self) -> bool:
        given = self.headers.get("authorization", "").removeprefix("Bearer ")
        if KEY in (given, self.headers.get("x-api-key", "")):
            return True
        self.rfile.read(0)
        self._json(401, messages.error("authentication_error", "invalid x-api-key"))
        return False

    def _json(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def paid_text(say: Say) -> list[str]:
    """What of an answer is paid for: its text, and each call's arguments."""
    return [
        text for text in (say.text, *(json.dumps(call.arguments) for call in say.calls)) if text
    ]


def _paid(say: Say) -> int:
    """Tokens of a whole answer."""
    return max(1, sum(map(count, paid_text(say))))


def _half(events: list[bytes], say: Say) -> tuple[list[bytes], int]:
    """An answer broken off after the first half of its first block, and what that costs."""
    first, _ = halves(paid_text(say)[0])
    sign = json.dumps(first)[1:-1].encode()
    place = next(n for n, event in enumerate(events) if sign in event)
    return events[: place + 1], max(1, count(first))


def _events(wire: Any, turn: Turn, say: Say, read: Tokens) -> Iterator[bytes]:
    output = _paid(say)
    if wire is chat:
        for chunk in chat.stream(turn, say, read, output):
            yield f"data: {json.dumps(chunk)}\n\n".encode()
        yield b"data: [DONE]\n\n"
        return
    for name, data in wire.stream(turn, say, read, output):
        yield f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode()
