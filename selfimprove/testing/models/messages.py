"""The Messages interface as a loopback server speaks it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from selfimprove.testing.models.said import Say, Tokens, ToolCall, Turn, halves, text_of

Body = dict[str, Any]
Event = tuple[str, Body]


def turn_of(body: Body) -> Turn:
    """Read a request."""
    prompt: list[str] = []
    calls: dict[str, ToolCall] = {}
    turns = 0
    for message in body["messages"]:
        parts = _parts(message["content"])
        turns += message["role"] == "assistant"
        for part in parts:
            if part["type"] == "text" and message["role"] == "user":
                prompt.append(part["text"])
            elif part["type"] == "tool_use":
                calls[part["id"]] = ToolCall(part["name"], part["input"])
            elif part["type"] == "tool_result":
                asked = calls[part["tool_use_id"]]
                result = text_of(part.get("content", ""))
                calls[part["tool_use_id"]] = ToolCall(asked.name, asked.arguments, result)
    tools = tuple(tool["name"] for tool in body.get("tools", []))
    return Turn(body["model"], "\n".join(prompt), tools, tuple(calls.values()), turns)


def blocks_of(body: Body) -> list[Body]:
    """A request's blocks in the order in which they are cached."""
    system = body.get("system", [])
    blocks: list[Body] = list(body.get("tools", []))
    blocks += [{"type": "text", "text": system}] if isinstance(system, str) else system
    for message in body["messages"]:
        blocks += [{**part, "of": message["role"]} for part in _parts(message["content"])]
    return blocks


def pieces(say: Say, turns: int) -> list[tuple[Body, list[Body]]]:
    """Each content block: its start and its deltas."""
    found: list[tuple[Body, list[Body]]] = []
    if say.text:
        deltas = [{"type": "text_delta", "text": part} for part in halves(say.text)]
        found.append(({"type": "text", "text": ""}, deltas))
    for number, call in enumerate(say.calls):
        start = {
            "type": "tool_use",
            "id": f"toolu_{turns}_{number}",
            "name": call.name,
            "input": {},
        }
        deltas = [
            {"type": "input_json_delta", "partial_json": part}
            for part in halves(json.dumps(call.arguments))
        ]
        found.append((start, deltas))
    return found


def stream(turn: Turn, say: Say, tokens: Tokens, output: int) -> Iterator[Event]:
    """The events of an answer."""
    usage = {
        "input_tokens": tokens.input,
        "cache_read_input_tokens": tokens.cache_read,
        "cache_creation_input_tokens": tokens.cache_write,
    }
    message: Body = {
        "id": f"msg_{turn.turn}",
        "type": "message",
        "role": "assistant",
        "model": turn.model,
    }
    message |= {"content": [], "stop_reason": None, "stop_sequence": None}
    yield "message_start", {"message": {**message, "usage": {**usage, "output_tokens": 1}}}
    for index, (start, deltas) in enumerate(pieces(say, turn.turn)):
        yield "content_block_start", {"index": index, "content_block": start}
        for delta in deltas:
            yield "content_block_delta", {"index": index, "delta": delta}
        yield "content_block_stop", {"index": index}
    why = "refusal" if say.refuses else "tool_use" if say.calls else "end_turn"
    stop = {"stop_reason": why, "stop_sequence": None}
    yield "message_delta", {"delta": stop, "usage": {**usage, "output_tokens": output}}
    yield "message_stop", {}


def error(kind: str, message: str) -> Body:
    """An error as this interface words it."""
    return {"type": "error", "error": {"type": kind, "message": message}}


def _parts(content: str | list[Body]) -> list[Body]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content
