"""Codex: `codex exec --json`, its events as lines of JSON; tried with 0.169.0."""

from __future__ import annotations

import re
from collections.abc import Mapping
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

BARE = (
    *("exec", "--json", "--color", "never", "--skip-git-repo-check", "--ephemeral"),
    # the room holds it: a sandbox of its own inside would find no rights left to give up
    *("--ignore-user-config", "--ignore-rules", "--sandbox", "danger-full-access"),
)
SET = {
    "project_doc_max_bytes": "0",
    "shell_environment_policy.ignore_default_excludes": "false",
    "web_search": '"disabled"',
    "check_for_update_on_startup": "false",
    "analytics.enabled": "false",
}
"""No AGENTS.md of the project's; no key in what its commands are given."""
WITHOUT = ("apps", "browser_use", "computer_use", "hooks", "image_generation", "multi_agent")
WITHOUT_MORE = ("plugins", "remote_plugin", "shell_snapshot")
STATUS = re.compile(r"status:? (\d{3})")


def arguments(question: Question) -> tuple[str, ...]:
    """How it is called; it reads the prompt where `-` stands."""
    values = {**SET, **{f"features.{name}": "false" for name in (*WITHOUT, *WITHOUT_MORE)}}
    if url := question.given.get("OPENAI_BASE_URL"):
        values["openai_base_url"] = f'"{url}"'
    words = [word for key, value in values.items() for word in ("-c", f"{key}={value}")]
    if question.model:
        words += ["--model", question.model]
    return (*BARE, *words, "-")


def environment(_question: Question) -> Mapping[str, str]:
    """What is set for it: nothing."""
    return {}


def read(output: bytes) -> Said:
    """What it printed; it does not say which model it was."""
    texts: list[str] = []
    used: dict[str, Any] = {}
    failed, ended = "", False
    for event in objects(output):
        kind = event.get("type")
        item = part(event, "item")
        if kind == "item.completed" and item.get("type") == "agent_message":
            texts.append(str(item.get("text") or ""))
        elif kind == "turn.completed":
            used, ended = part(event, "usage"), True
        elif kind in ("turn.failed", "error"):
            told = part(event, "error").get("message") or event.get("message")
            failed = " ".join(str(told).split())[:400]
    error = "" if ended else failed or NO_RESULT
    read, write = number(used, "cached_input_tokens"), number(used, "cache_write_input_tokens")
    tokens = Tokens(number(used, "input_tokens"), number(used, "output_tokens"), read, write)
    return Said(
        text=texts[-1] if texts else "",
        tokens={"": tokens} if used else {},
        error=error,
        trouble=_trouble(error),
        transcript=last_part(texts),
    )


def _trouble(error: str) -> Trouble:
    if "usage limit" in error:
        return "away"
    if "model is not supported" in error:
        return "model"
    found = STATUS.search(error)
    if found:
        return trouble_of(int(found[1]))
    if "log in" in error or "refresh token" in error:
        return "login"
    lost = ("stream disconnected", "error sending request", "Reconnecting", "at capacity")
    return "away" if any(each in error for each in lost) else "other"


def _is_key(store: dict[str, Any]) -> bool:
    return bool(store.get("OPENAI_API_KEY")) and not store.get("tokens")


CODEX = Row(
    scheme="codex",
    program="codex",
    install="npm install -g @openai/codex",
    provider="openai",
    arguments=arguments,
    read=read,
    environment=environment,
    login=Login(
        how="run `codex login`",
        token="CODEX_ACCESS_TOKEN",  # noqa: S106 - the name of a variable
        store=".codex/auth.json",
        moved=("CODEX_HOME", "auth.json"),
        keys=("OPENAI_API_KEY", "CODEX_API_KEY"),
        key_as="CODEX_API_KEY",
        holds_key=_is_key,
    ),
    variables=frozenset({"OPENAI_BASE_URL"}),
)
