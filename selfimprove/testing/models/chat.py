"""The chat completions interface as a loopback server speaks it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from selfimprove.testing.models.said import Say, Tokens, ToolCall, Turn, halves, text_of

Body = dict[str, Any]

PIECE = 512
"""Characters of 128 tokens, in steps of which a beginning is cached here."""


def turn_of(body: Body) -> Turn:
    """Read a request."""
    prompt: list[str] = []
    calls: dict[str, ToolCall] = {}
    turns = 0
    for message in body["messages"]:
        if message["role"] == "user":
            told = message["content"]
            assert isinstance(told, str), "small servers' templates know no message in parts"
            prompt.append(told)
        elif message["role"] == "assistant":
            turns += 1
            for call in message.get("tool_calls") or []:
                function = call["function"]
                calls[call["id"]] = ToolCall(function["name"], json.loads(function["arguments"]))
        elif message["role"] == "tool":
            asked = calls[message["tool_call_id"]]
            result = text_of(message["content"])
            calls[message["tool_call_id"]] = ToolCall(asked.name, asked.arguments, result)
    tools = tuple(tool["function"]["name"] for tool in body.get("tools", []))
    return Turn(body["model"], "\n".join(prompt), tools, tuple(calls.values()), turns)


def blocks_of(body: Body) -> list[Body]:
    """A request's blocks in the order in which they are cached: by themselves, 128 tokens each."""
    text = "\n".join(f"{each['role']}: {_said(each)}" for each in body["messages"])
    pieces = (text[place : place + PIECE] for place in range(0, len(text), PIECE))
    return [*body.get("tools", []), *({"text": piece, "cache_control": {}} for piece in pieces)]


def _said(message: Body) -> str:
    calls = message.get("tool_calls")
    return text_of(message.get("content")) + (json.dumps(calls) if calls else "")


def stream(turn: Turn, say: Say, tokens: Tokens, output: int) -> Iterator[Body]:
    """The chunks of an answer, the last with its usage."""
    yield _chunk(turn, {"role": "assistant", "content": ""})
    for part in halves(say.text):
        if part:
            yield _chunk(turn, {"content": part})
    for index, call in enumerate(say.calls):
        about: Body = {"index": index, "id": f"call_{turn.turn}_{index}", "type": "function"}
        name = {"name": call.name, "arguments": ""}
        yield _chunk(turn, {"tool_calls": [{**about, "function": name}]})
        for part in halves(json.dumps(call.arguments)):
            yield _chunk(turn, {"tool_calls": [{"index": index, "function": {"arguments": part}}]})
    why = "content_filter" if say.refuses else "tool_calls" if say.calls else "stop"
    yield _chunk(turn, {}, why)
    usage = {
        "prompt_tokens": tokens.total,
        "completion_tokens": output,
        "total_tokens": tokens.total + output,
        "prompt_tokens_details": {"cached_tokens": tokens.cache_read},
    }
    yield {**_chunk(turn, {}), "choices": [], "usage": usage}


def _chunk(turn: Turn, delta: Body, why: str | None = None) -> Body:
    choice = {"index": 0, "delta": delta, "finish_reason": why}
    about = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000}
    return {**about, "model": turn.model, "choices": [choice]}


def error(kind: str, message: str) -> Body:
    """An error as this interface words it."""
    return {"error": {"type": kind, "message": message, "code": None, "param": None}}
