"""The Responses interface as a loopback server speaks it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from selfimprove.testing.models.chat import PIECE, error
from selfimprove.testing.models.said import Say, Tokens, ToolCall, Turn, halves, text_of

__all__ = ["blocks_of", "error", "stream", "turn_of"]

Body = dict[str, Any]
Event = tuple[str, Body]


def turn_of(body: Body) -> Turn:
    """Read a request; what the program itself adds to a conversation is no prompt of the user's."""
    prompt: list[str] = []
    calls: dict[str, ToolCall] = {}
    turns = 0
    for item in body["input"]:
        kind = item.get("type", "message")
        if kind == "message" and item["role"] == "user":
            prompt.append(text_of(item["content"]))
        elif kind == "message":
            turns += item["role"] == "assistant"
        elif kind == "function_call":
            turns += 1
            calls[item["call_id"]] = ToolCall(item["name"], json.loads(item["arguments"]))
        elif kind == "function_call_output":
            asked = calls[item["call_id"]]
            result = text_of(item["output"])
            calls[item["call_id"]] = ToolCall(asked.name, asked.arguments, result)
    tools = tuple(tool.get("name", tool["type"]) for tool in body.get("tools", []))
    return Turn(body["model"], "\n".join(prompt), tools, tuple(calls.values()), turns)


def blocks_of(body: Body) -> list[Body]:
    """A request's blocks in the order in which they are cached: by themselves, 128 tokens each."""
    said = [{"instructions": body.get("instructions", "")}, *body["input"]]
    text = "\n".join(json.dumps(each, sort_keys=True) for each in said)
    pieces = (text[place : place + PIECE] for place in range(0, len(text), PIECE))
    return [*body.get("tools", []), *({"text": piece, "cache_control": {}} for piece in pieces)]


def stream(turn: Turn, say: Say, tokens: Tokens, output: int) -> Iterator[Event]:
    """The events of an answer, the last with its usage."""
    about = {"id": "resp_1", "object": "response", "model": turn.model}
    yield "response.created", {"response": {**about, "status": "in_progress"}}
    for index, item in enumerate(_items(turn, say)):
        yield "response.output_item.added", {"output_index": index, "item": item}
        for part in halves(say.text) if item["type"] == "message" else ():
            place = {"output_index": index, "content_index": 0, "item_id": item["id"]}
            yield "response.output_text.delta", {**place, "delta": part}
        yield "response.output_item.done", {"output_index": index, "item": item}
    usage = {
        "input_tokens": tokens.total,
        "input_tokens_details": {"cached_tokens": tokens.cache_read},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": tokens.total + output,
    }
    yield "response.completed", {"response": {**about, "status": "completed", "usage": usage}}


def _items(turn: Turn, say: Say) -> Iterator[Body]:
    if say.text:
        content = [{"type": "output_text", "text": say.text, "annotations": []}]
        about = {"type": "message", "id": f"msg_{turn.turn}", "status": "completed"}
        yield {**about, "role": "assistant", "content": content}
    for number, call in enumerate(say.calls):
        arguments = json.dumps(call.arguments)
        about = {"type": "function_call", "id": f"fc_{turn.turn}_{number}", "status": "completed"}
        about |= {"call_id": f"call_{turn.turn}_{number}"}
        yield {**about, "name": call.name, "arguments": arguments}
