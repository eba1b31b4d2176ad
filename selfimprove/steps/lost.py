"""What no journal has yet: questions under way when a process was killed, and those of set-up."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

from selfimprove.agents.purse import OpenTab, read_tabs
from selfimprove.agents.replies import KeptReply
from selfimprove.contracts.agent import Usage
from selfimprove.contracts.envelope import Draft, control, tool_result
from selfimprove.deps import Deps
from selfimprove.steps.base import Drafts
from selfimprove.store.journal import segment_numbers
from selfimprove.store.layout import Layout
from selfimprove.store.record import envelopes
from selfimprove.store.state import State


def calls(layout: Layout, state: State) -> Iterator[str]:
    """Agent calls that were in flight when the last process died, and whose reply was not kept."""
    asked = {deed.seq: name for name, deed in state.open_deeds.items()}
    for envelope in envelopes(layout, max(segment_numbers(layout.journal), default=0)):
        payload = envelope.payload
        if envelope.seq not in asked or payload.get("tool") != "agent.ask":
            continue
        if not (layout.replies / f"{payload['args'].get('request')}.json").is_file():
            yield asked[envelope.seq]


def book(state: State, deps: Deps) -> Drafts:
    """Book every tab that was left open: by its kept reply, else at its worst case."""
    replies = deps.workshop.tools.replies
    for place, tab in read_tabs(replies.directory):
        if tab is None:
            yield control("setup", "warning", message=f"{place} cannot be read: it is not booked")
        else:
            state = yield from _booked(state, tab, replies.get(tab.request))
        place.unlink(missing_ok=True)


def _booked(state: State, tab: OpenTab, kept: KeptReply | None) -> Generator[Draft, State, State]:
    answered = state.round.answered if state.round else []
    if kept is not None:
        if kept.key not in answered:
            result: dict[str, Any] = {**_asked(tab), "ok": True, "reply": kept.key}
            state = yield _result(tab, result, kept.reply.usage)
        return state
    if tab.id in answered:
        return state
    if tab.failed:
        result = {**_asked(tab), "ok": False, "kind": "failed", "error": tab.failed}
        return (yield _result(tab, result | {"reply": tab.id}, tab.worst))
    open_ = tab.reserved.tokens > 0
    told = "booked is what it had spent" + (
        ", and the worst that its open request may have cost" if open_ else ""
    )
    result = {**_asked(tab), "ok": False, "kind": "lost", "error": told, "reply": tab.id}
    state = yield _result(tab, result, tab.worst)
    spent = tab.worst
    amount = f"{spent.counted} calls, {spent.tokens:,} tokens, ${spent.usd:.4f}"
    message = f"{tab.agent} was being asked when the run was cut off; {told}: {amount}"
    return (yield control(tab.about, "warning", message=message))


def _asked(tab: OpenTab) -> dict[str, str]:
    """Whose question it was, and whom it was for where the tab says so."""
    return {"agent": tab.agent, **({"spec": tab.spec} if tab.spec else {})}


def _result(tab: OpenTab, result: dict[str, Any], usage: Usage) -> Draft:
    payload = {"tool": "agent.ask", "args_hash": tab.args_hash}
    call = Draft(role="system", type="tool_call", correlation_id=tab.about, payload=payload)
    return tool_result(call, result, usage.document())
