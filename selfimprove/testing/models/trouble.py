"""How a loopback server misbehaves, request by request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Refuse:
    """Answers with an error: 429 with `retry-after`, 529, 401, ..."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    kind: str = "error"
    message: str = "not now"


@dataclass(frozen=True)
class Cut:
    """Breaks the answer off in the middle."""


@dataclass(frozen=True)
class Fail:
    """Reports an error in the middle of the stream, after a 200."""

    kind: str = "overloaded_error"


@dataclass(frozen=True)
class Hang:
    """Says nothing for a while, then answers."""

    seconds: float


Trouble = Refuse | Cut | Fail | Hang | None
Plan = Callable[[int], Trouble]
"""From the number of a model request, counted from 1, to what goes wrong with it."""


def never(_number: int) -> Trouble:
    """Nothing goes wrong."""
    return None
