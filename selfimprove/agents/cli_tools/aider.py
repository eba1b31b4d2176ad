"""Aider: `aider --message-file`, which prints words alone and rounds its tokens."""

from __future__ import annotations

import re
from collections.abc import Mapping

from selfimprove.agents.cli_tools.row import (
    NO_RESULT,
    Login,
    Question,
    Row,
    Said,
    Trouble,
    last_part,
)
from selfimprove.agents.llm.prices import Tokens

BARE = (
    *("--message-file", "/dev/stdin", "--yes-always", "--no-git", "--no-auto-commits"),
    *("--no-check-update", "--no-show-release-notes", "--no-analytics", "--no-pretty"),
    *("--no-stream", "--no-detect-urls", "--no-suggest-shell-commands", "--no-show-model-warnings"),
    *("--config", "/dev/null", "--env-file", "/dev/null", "--map-tokens", "2048"),
)
USED = re.compile(r"^Tokens: ([\d.,]+)([kM]?) sent,.*?([\d.,]+)([kM]?) received", re.M)
CACHED = re.compile(r"([\d.,]+)([kM]?) cache (hit|write)")
TIMES = {"": 1, "k": 1_000, "M": 1_000_000}
LOGIN = ("AuthenticationError", "API key", "api_key")
AWAY = ("RateLimitError", "InternalServerError", "APIConnectionError", "overloaded", "Timeout")
FAILED = re.compile(r"^(?:litellm\.\w+|.*(?:Error|Exception)): .*$", re.M)


def arguments(question: Question) -> tuple[str, ...]:
    """How it is called: it edits the files it is told of, and else only answers."""
    model = ("--model", question.model) if question.model else ()
    if not question.writable:
        return (*BARE, *model, "--chat-mode", "ask")
    named = (word for file in question.files for word in ("--file", file))
    return (*BARE, *model, *named)


def environment(_question: Question) -> Mapping[str, str]:
    """What is set for it: nothing."""
    return {}


def read(output: bytes) -> Said:
    """What it printed; counts such as 5.2k are as exact as that."""
    text = output.decode("utf-8", "replace")
    used = list(USED.finditer(text))
    failed = FAILED.findall(text)
    error = " ".join(failed[-1].split())[:400] if failed and not used else ""
    if not used and not error:
        error = NO_RESULT
    read_ = sum(_count(*each.group(1, 2)) for each in used)
    written = sum(_count(*each.group(3, 4)) for each in used)
    hit = sum(
        _count(size, unit)
        for each in used
        for size, unit, kind in CACHED.findall(each[0])
        if kind == "hit"
    )
    tokens = {"": Tokens(read_ + hit, written, hit)} if used else {}
    return Said(text, None, tokens, error, _trouble(error), transcript=last_part([text]))


def _count(size: str, unit: str) -> int:
    return round(float(size.replace(",", "")) * TIMES[unit])


def _trouble(error: str) -> Trouble:
    if any(word in error for word in LOGIN):
        return "login"
    if any(word in error for word in AWAY):
        return "away"
    return "model" if "NotFoundError" in error else "other"


AIDER = Row(
    scheme="aider",
    program="aider",
    install="pip install aider-chat",
    provider="",
    arguments=arguments,
    read=read,
    environment=environment,
    login=Login(
        how="export the key of its model's provider",
        keys=("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"),
    ),
    variables=frozenset({"OPENAI_API_BASE", "ANTHROPIC_API_BASE", "OLLAMA_API_BASE"}),
)
