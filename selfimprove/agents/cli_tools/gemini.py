"""Gemini CLI: `gemini --output-format json`, one object at the end; errors go to stderr."""

from __future__ import annotations

import json
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
    number,
    part,
    trouble_of,
)
from selfimprove.agents.llm.prices import Tokens

STATUS = re.compile(r"(?:status|code)\W{0,4}(\d{3})", re.I)


def arguments(question: Question) -> tuple[str, ...]:
    """How it is called; it reads the prompt from standard input."""
    words = ["--output-format", "json", "--extensions", "none"]
    if question.model:
        words += ["--model", question.model]
    # `plan` allows what only reads; the room holds the rest
    mode = "yolo" if question.writable else "plan"
    return (*words, "--approval-mode", mode)


def environment(_question: Question) -> Mapping[str, str]:
    """What is set for it: the tree is one that it may work in, and nothing is reported."""
    return {"GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_TELEMETRY_ENABLED": "false"}


def read(output: bytes) -> Said:
    """What it printed."""
    found = _object(output)
    if found is None:
        return Said(error=NO_RESULT)
    tokens = {}
    for model, row in part(found, "stats", "models").items():
        used = part(row, "tokens")
        written = number(used, "candidates") + number(used, "thoughts")
        read_ = number(used, "prompt") + number(used, "tool")
        tokens[model] = Tokens(read_, written, number(used, "cached"))
    failed = part(found, "error")
    text = str(found.get("response") or "")
    error = " ".join(str(failed.get("message") or "it failed").split())[:400] if failed else ""
    return Said(text, None, tokens, error, _trouble(failed, error), transcript=text)


def _object(output: bytes) -> dict[str, Any] | None:
    """The result: the last object that stands in lines of its own, whatever was said before."""
    text = output.decode("utf-8", "replace")
    for begin in reversed([match.start() for match in re.finditer(r"^\{", text, re.M)]):
        try:
            found, _ = json.JSONDecoder().raw_decode(text[begin:])
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            return found
    return None


def _trouble(failed: dict[str, Any], error: str) -> Trouble:
    if "quota" in error.lower() or "exhausted" in error.lower():
        return "away"
    if "uth method" in error or "uth" in str(failed.get("type")) or failed.get("code") == 41:
        return "login"
    status = STATUS.search(error)
    return trouble_of(int(status[1])) if status else "other"


GEMINI = Row(
    scheme="gemini",
    program="gemini",
    install="npm install -g @google/gemini-cli",
    provider="google",
    arguments=arguments,
    read=read,
    environment=environment,
    login=Login(
        how="run `gemini` and log in",
        store=".gemini/oauth_creds.json",
        store_by={"GOOGLE_GENAI_USE_GCA": "true"},
        keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        key_as="GEMINI_API_KEY",
    ),
    variables=frozenset({"GOOGLE_GEMINI_BASE_URL", "GOOGLE_CLOUD_PROJECT"}),
)
