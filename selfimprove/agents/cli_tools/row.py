"""What is known of one coding CLI: a row of the table, and what goes into it and comes out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from selfimprove.agents.llm.prices import Tokens

TRANSCRIPT_CHARACTERS = 64 << 10

Trouble = Literal["login", "model", "away", "other"]
"""Why there is no answer: no login that holds, no such model, a limit or an outage, or else."""
NO_RESULT = "it ended without a result"
BUSY = frozenset({408, 409, 425, 429})


@dataclass(frozen=True)
class Question:
    """What a CLI is asked, but for the words, which it reads from standard input."""

    model: str = ""
    """Its own choice where empty."""
    session: str = ""
    """A UUID, the same on a second try; empty where nothing is kept of it."""
    schema: Mapping[str, Any] | None = None
    """Of the answer; None where any words will do."""
    writable: bool = False
    """It may edit the tree; else it only reads."""
    tools: bool = True
    commands: tuple[str, ...] = ()
    """What it may run, where it can be told to run nothing else."""
    files: tuple[str, ...] = ()
    """Those it is to change, for a CLI that has to be told."""
    turns: int = 1
    given: Mapping[str, str] = field(default_factory=dict)
    """The caller's variables that it is let have."""


@dataclass(frozen=True)
class Said:
    """What a CLI printed, understood."""

    text: str = ""
    """Its last words, with the answer in them."""
    output: dict[str, Any] | None = None
    """The answer by itself, where the CLI gives it so."""
    tokens: Mapping[str, Tokens] = field(default_factory=dict)
    """Model -> what it read and wrote in the whole call."""
    error: str = ""
    """What it says went wrong; empty where nothing did."""
    trouble: Trouble = "other"
    until: float | None = None
    """When a limit ends, in seconds since 1970."""
    transcript: str = ""


@dataclass(frozen=True)
class Login:
    """How a CLI knows who pays."""

    how: str
    """What a person does to log in."""
    token: str = ""
    """The variable with a token of a login."""
    store: str = ""
    """The file it keeps its login in, below HOME."""
    moved: tuple[str, str] = ("", "")
    """The variable that moves the store, and the file below what it names."""
    store_by: Mapping[str, str] = field(default_factory=dict)
    """Variables that tell it to use the store."""
    keys: tuple[str, ...] = ()
    """Variables with API keys: those that are set are given, where keys are asked for."""
    key_as: str = ""
    """The one variable it takes a key from, where it takes but one: the first that is set."""
    holds_key: Callable[[dict[str, Any]], bool] = lambda _: False
    """Whether a store's login is an API key, which is paid by the token."""


@dataclass(frozen=True)
class Row:
    """One coding CLI."""

    scheme: str
    program: str
    install: str
    """The command that installs it."""
    provider: str
    """Whose prices hold, as the table of prices names it; empty where models' names say that."""
    arguments: Callable[[Question], tuple[str, ...]]
    read: Callable[[bytes], Said]
    login: Login
    environment: Callable[[Question], Mapping[str, str]]
    """Variables that are set for it."""
    variables: frozenset[str] = frozenset()
    """Names of the caller's variables that it is let have besides: where its provider is."""
    takes_turns: bool = False
    """Whether its requests in one call can be limited."""


def objects(output: bytes) -> Iterator[dict[str, Any]]:
    """The JSON objects of an output that has one a line; other lines are passed over."""
    for line in output.splitlines():
        if line.lstrip()[:1] == b"{":
            try:
                found = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(found, dict):
                yield found


def part(value: Any, *names: str) -> dict[str, Any]:
    """The object inside objects under these names; empty where there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def number(value: Any, name: str) -> int:
    """The count under a name; 0 where there is none."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else 0


def trouble_of(status: int | None) -> Trouble:
    """What a provider's HTTP status means."""
    if status in (401, 403):
        return "login"
    if status == 404:
        return "model"
    return "away" if status is not None and (status in BUSY or status >= 500) else "other"


def last_part(texts: list[str]) -> str:
    """Texts as a transcript: the last of them where there are many."""
    return "\n\n".join(texts)[-TRANSCRIPT_CHARACTERS:]
