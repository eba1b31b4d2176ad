"""What a loopback model is asked, what it says, and what its server counts."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class ToolCall:
    """A tool that the model calls."""

    name: str
    arguments: dict[str, Any]
    result: str | None = None
    """What the tool answered; None while the model only asks for it."""


@dataclass(frozen=True)
class Turn:
    """What a model is asked in one request, whatever the protocol."""

    model: str
    prompt: str
    """All the text of the user's, the first message first."""
    tools: tuple[str, ...]
    done: tuple[ToolCall, ...]
    """The calls it made before in this conversation, with their results."""
    turn: int
    """How often the model has spoken in this conversation."""


@dataclass(frozen=True)
class Say:
    """What a model says: some text, some tool calls, or both."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    refuses: bool = False


Brain = Callable[[Turn], Say]


@dataclass(frozen=True)
class Prices:
    """Dollars per million tokens."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0


@dataclass(frozen=True)
class Tokens:
    """What one request read; `input` leaves out what came from the cache or went into it."""

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def total(self) -> int:
        """Everything that was read."""
        return self.input + self.cache_read + self.cache_write


@dataclass(frozen=True)
class Booking:
    """What one answer cost."""

    turn: Turn
    tokens: int
    """Read and written, together."""
    usd: float


@dataclass
class Ledger:
    """What a server has counted; safe to use from its threads."""

    prices: Prices = field(default_factory=Prices)
    calls: int = 0
    """Requests that were answered, or begun to be."""
    refused: int = 0
    cut: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    usd: float = 0.0
    turns: list[tuple[Turn, Tokens]] = field(default_factory=list)
    bookings: list[Booking] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def book(self, turn: Turn, tokens: Tokens, output: int) -> None:
        """Book one answer."""
        price = self.prices
        usd = (
            price.input * tokens.input
            + price.output * output
            + price.cache_read * tokens.cache_read
            + price.cache_write * tokens.cache_write
        ) / 1e6
        with self.lock:
            self.calls += 1
            self.input_tokens += tokens.total
            self.output_tokens += output
            self.cache_read_tokens += tokens.cache_read
            self.cache_write_tokens += tokens.cache_write
            self.turns.append((turn, tokens))
            self.bookings.append(Booking(turn, tokens.total + output, usd))
            self.usd += usd


def text_of(content: str | list[dict[str, Any]] | None) -> str:
    """The text of a message's content, a line for each of its parts."""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or [])


def halves(text: str) -> tuple[str, str]:
    """A text in two parts, as streams carry it; the first is what a broken one still carried."""
    half = len(text) // 2
    return text[:half], text[half:]


def count(text: str) -> int:
    """How many tokens a text is here: four characters each, rounded up."""
    return (len(text) + 3) // 4
