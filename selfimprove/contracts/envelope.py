"""The message envelope: one line of the journal ("Thinking as Data", message envelope v1)."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any, Literal

from pydantic import Field

from selfimprove.contracts.base import Record, Sha256

Role = Literal["actor", "critic", "tool", "system"]
MessageType = Literal["plan_step", "tool_call", "tool_result", "critique", "control"]

FIRST_PREV = "0" * 64
"""`prev` of the very first line of a journal."""


class Draft(Record):
    """A message as a step yields it, before the journal numbers, dates and chains it."""

    role: Role
    type: MessageType
    correlation_id: str
    """What the message is about, the same for a call and its result:
    `round_3/execution/executor_1/measure`."""
    payload: dict[str, Any]


class Envelope(Record):
    """A journaled message."""

    version: Literal["v1"] = "v1"
    id: str
    """`msg_<seq>`."""
    seq: int = Field(ge=1)
    """Number of the line in the whole journal, from 1."""
    prev: Sha256
    """SHA-256 of the line before (its bytes without the newline); for a segment's first line, of
    the last line of the segment before; 64 zeros for the very first."""
    correlation_id: str
    trace_id: str
    """The run this message belongs to."""
    role: Role
    type: MessageType
    timestamp: str
    """ISO 8601, UTC."""
    payload: dict[str, Any]


def control(correlation_id: str, event: str, **details: Any) -> Draft:
    """A system message: something was decided or happened."""
    payload = {"step_id": correlation_id, "event": event, **details}
    return Draft(role="system", type="control", correlation_id=correlation_id, payload=payload)


def args_hash(args: dict[str, Any]) -> str:
    """`sha256:` and the digest of the arguments as canonical JSON."""
    canonical = json.dumps(args, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{sha256(canonical.encode()).hexdigest()}"


def tool_call(correlation_id: str, tool: str, **args: Any) -> Draft:
    """An intent: the effect named here is about to be attempted."""
    payload = {"step_id": correlation_id, "tool": tool, "args": args, "args_hash": args_hash(args)}
    return Draft(role="system", type="tool_call", correlation_id=correlation_id, payload=payload)


def tool_result(
    call: Draft, result: dict[str, Any], metrics: dict[str, Any] | None = None
) -> Draft:
    """What became of the intent `call`."""
    payload: dict[str, Any] = {
        "step_id": call.correlation_id,
        "tool": call.payload["tool"],
        "args_hash": call.payload["args_hash"],
        "result": result,
    }
    if metrics:
        payload["metrics"] = metrics
    return Draft(
        role="tool", type="tool_result", correlation_id=call.correlation_id, payload=payload
    )


def plan_step(correlation_id: str, intent: str, **content: Any) -> Draft:
    """What an actor proposed (a brief, a plan, a candidate's summary)."""
    payload = {"step_id": correlation_id, "intent": intent, **content}
    return Draft(role="actor", type="plan_step", correlation_id=correlation_id, payload=payload)


VERIFIER = "verifier"
"""The critic that is code: it holds what agents produce against schema, rubric and each other."""


def critique(correlation_id: str, critic: str, **content: Any) -> Draft:
    """What a critic (a rule in code, or an agent) found."""
    payload = {"step_id": correlation_id, "critic": critic, **content}
    return Draft(role="critic", type="critique", correlation_id=correlation_id, payload=payload)
