"""Claude Code: `claude -p`, its events as lines of JSON; tried with 2.1.197."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from selfimprove.agents.cli_tools.row import (
    NO_RESULT,
    Login,
    Question,
    Row,
    Said,
    Trouble,
    last_part,
    number,
    objects,
    part,
    trouble_of,
)
from selfimprove.agents.llm.prices import Tokens

READING, EDITING = "Read,Glob,Grep", "Read,Glob,Grep,Edit,Write"
RETRIES = 3
"""Of one request; the run itself waits for what lasts longer."""
BARE = (
    *("-p", "--output-format", "stream-json", "--verbose", "--no-session-persistence"),
    # nothing of the user's or the project's: no CLAUDE.md, settings, hooks, plugins, servers
    *("--safe-mode", "--setting-sources", "", "--strict-mcp-config", "--no-chrome"),
    *("--permission-mode", "dontAsk"),
)


def arguments(question: Question) -> tuple[str, ...]:
    """How it is called."""
    words = [*BARE, "--max-turns", str(question.turns)]
    if question.model:
        words += ["--model", question.model]
    if question.session:
        words += ["--session-id", question.session]
    if question.schema is not None:
        words += ["--json-schema", json.dumps(question.schema, separators=(",", ":"))]
    if not question.tools:
        return (*words, "--tools", "", "--system-prompt", "Answer in one word.")
    tools = EDITING if question.writable else READING
    allowed = [*tools.split(","), *(f"Bash({each})" for each in question.commands)]
    run = ",Bash" if question.commands else ""
    return (*words, "--tools", tools + run, "--allowedTools", *allowed)


def environment(_question: Question) -> Mapping[str, str]:
    """What is set for it."""
    return {
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": str(RETRIES),
        "DISABLE_AUTOUPDATER": "1",
    }


def read(output: bytes) -> Said:
    """What it printed."""
    texts: list[str] = []
    result: dict[str, Any] = {}
    until: float | None = None
    requests: dict[str, dict[str, Any]] = {}
    for event in objects(output):
        kind = event.get("type")
        if kind == "assistant":
            message = part(event, "message")
            requests[str(message.get("id"))] = message
            content = message.get("content")
            parts = content if isinstance(content, list) else []
            texts += [str(one["text"]) for one in parts if isinstance(one, dict) and "text" in one]
        elif kind == "rate_limit_event":
            limit = part(event, "rate_limit_info")
            resets = limit.get("resetsAt") if limit.get("status") == "rejected" else None
            until = float(resets) if isinstance(resets, int | float) else until
        elif kind == "result":
            result = event
    if not result:
        tokens = _known(requests.values())
        return Said(tokens=tokens, error=NO_RESULT, transcript=last_part(texts))
    structured = result.get("structured_output")
    error = _error(result)
    return Said(
        text=str(result.get("result") or ""),
        output=structured if isinstance(structured, dict) else None,
        tokens=_tokens(result),
        error=error,
        trouble=_trouble(result, error),
        until=until if error else None,
        transcript=last_part(texts),
    )


def _error(result: dict[str, Any]) -> str:
    if not result.get("is_error") and result.get("subtype") == "success":
        return ""
    told = result.get("result") or result.get("errors") or result.get("subtype")
    return " ".join(str(told).split())[:400] or "it failed"


def _trouble(result: dict[str, Any], error: str) -> Trouble:
    status = result.get("api_error_status")
    if isinstance(status, int):
        return trouble_of(status)
    if "log in" in error or "Not logged in" in error or "/login" in error:
        return "login"
    return "away" if error.startswith("API Error") or "limit" in error else "other"


def _tokens(result: dict[str, Any]) -> dict[str, Tokens]:
    """By model: the sum over all its requests, those of helpers of its own included."""
    found = {}
    for model, used in part(result, "modelUsage").items():
        read, write = number(used, "cacheReadInputTokens"), number(used, "cacheCreationInputTokens")
        whole = number(used, "inputTokens") + read + write
        found[model] = Tokens(whole, number(used, "outputTokens"), read, write)
    return found


def _known(requests: Iterable[dict[str, Any]]) -> dict[str, Tokens]:
    """What is known of a call that was cut short: what its requests read."""
    found: dict[str, Tokens] = {}
    for message in requests:
        used, model = part(message, "usage"), str(message.get("model"))
        read, write = (
            number(used, "cache_read_input_tokens"),
            number(used, "cache_creation_input_tokens"),
        )
        whole = number(used, "input_tokens") + read + write
        found[model] = found.get(model, Tokens()).plus(
            Tokens(whole, number(used, "output_tokens"), read, write)
        )
    return found


CLAUDE_CODE = Row(
    scheme="claude-code",
    program="claude",
    install="npm install -g @anthropic-ai/claude-code",
    provider="anthropic",
    arguments=arguments,
    read=read,
    environment=environment,
    login=Login(
        how="run `claude` and log in, or set CLAUDE_CODE_OAUTH_TOKEN (`claude setup-token`)",
        token="CLAUDE_CODE_OAUTH_TOKEN",  # noqa: S106 - the name of a variable
        store=".claude/.credentials.json",
        moved=("CLAUDE_CONFIG_DIR", ".credentials.json"),
        keys=("ANTHROPIC_API_KEY",),
    ),
    variables=frozenset({"ANTHROPIC_BASE_URL"}),
    takes_turns=True,
)
