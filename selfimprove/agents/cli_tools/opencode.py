"""OpenCode: `opencode run --format json`, its events as lines of JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import reduce
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

DENIED = {"edit": "deny", "bash": "deny", "task": "deny", "webfetch": "deny", "websearch": "deny"}


def arguments(question: Question) -> tuple[str, ...]:
    """How it is called; it reads the prompt from standard input."""
    model = ("--model", question.model) if question.model else ()
    # without a title it asks for one, and does not say what that cost
    return ("run", "--format", "json", "--pure", "--title", "selfimprove", *model)


def environment(question: Question) -> Mapping[str, str]:
    """What is set for it: what it may do, over all other configuration."""
    permission = {"*": "allow", "task": "deny"} if question.writable else {"*": "allow", **DENIED}
    permission["external_directory"] = "deny"
    config = {"permission": permission, "autoupdate": False, "share": "disabled"}
    return {
        "OPENCODE_CONFIG_CONTENT": json.dumps(config),
        "OPENCODE_DISABLE_PROJECT_CONFIG": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
    }


def read(output: bytes) -> Said:
    """What it printed; its tokens come step by step, and without the model's name."""
    texts: list[str] = []
    error, status = "", None
    ended, steps = False, []
    for event in objects(output):
        kind, told = event.get("type"), part(event, "part")
        if kind == "text":
            texts.append(str(told.get("text") or ""))
        elif kind == "step_finish":
            steps.append(_tokens(part(told, "tokens")))
            ended = told.get("reason") != "tool-calls"
        elif kind == "error":
            about = part(event, "error", "data")
            name = part(event, "error").get("name")
            error = " ".join(str(about.get("message") or name or "it failed").split())[:400]
            status = about.get("statusCode")
    if not error and not ended:
        error = NO_RESULT
    return Said(
        text=texts[-1] if texts else "",
        tokens={"": reduce(Tokens.plus, steps)} if steps else {},
        error=error,
        trouble=_trouble(error, status),
        transcript=last_part(texts),
    )


def _tokens(used: dict[str, Any]) -> Tokens:
    cache = part(used, "cache")
    read_, write = number(cache, "read"), number(cache, "write")
    written = number(used, "output") + number(used, "reasoning")
    return Tokens(number(used, "input") + read_ + write, written, read_, write)


def _trouble(error: str, status: Any) -> Trouble:
    if isinstance(status, int):
        return trouble_of(status)
    if "Model not found" in error:
        return "model"
    return "login" if "API key" in error else "other"


def _has_key(store: dict[str, Any]) -> bool:
    return any(part(store, name).get("type") == "api" for name in store)


OPENCODE = Row(
    scheme="opencode",
    program="opencode",
    install="npm install -g opencode-ai",
    provider="",
    arguments=arguments,
    read=read,
    environment=environment,
    login=Login(
        how="run `opencode auth login`",
        store=".local/share/opencode/auth.json",
        moved=("XDG_DATA_HOME", "opencode/auth.json"),
        keys=("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY"),
        holds_key=_has_key,
    ),
    variables=frozenset({"ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"}),
)
