"""Envelopes -> State, pure: the only place where state changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from selfimprove.contracts.envelope import Envelope
from selfimprove.errors import ContractError
from selfimprove.store.changes import with_round
from selfimprove.store.fold_round import ROUND_EVENTS, ROUND_INTENTS, critiqued
from selfimprove.store.fold_run import RUN_EVENTS
from selfimprove.store.fold_tools import call_begun, call_ended
from selfimprove.store.state import State

Folder = Callable[[State, Envelope, dict[str, Any]], State]

_EVENTS: dict[str, Folder] = {**RUN_EVENTS, **ROUND_EVENTS}


UNSEEN = frozenset({"step_started", "confirming", "confirmation", "quality", "warning"})
"""Events that change nothing of what the iteration state shows."""


def fold_one(state: State, envelope: Envelope) -> State:
    """The state after one more envelope; raises ContractError for one that cannot be folded."""
    try:
        return _folded(state, envelope)
    except KeyError as missing:
        raise ContractError(
            f"{envelope.id}: {missing} is not in it, or not in what came before",
            "the journal was edited, or is of another version of selfimprove: go on with that one",
        ) from missing


def _folded(state: State, envelope: Envelope) -> State:
    payload = envelope.payload
    if envelope.type == "control":
        event = str(payload.get("event"))
        if event not in _EVENTS:
            raise ContractError(
                f"{envelope.id}: no event {event!r} is known",
                "the journal was written by a newer version: update selfimprove",
            )
        state = _EVENTS[event](state, envelope, payload)
    elif envelope.type == "plan_step":
        intent = str(payload.get("intent"))
        if intent not in ROUND_INTENTS:
            raise ContractError(
                f"{envelope.id}: no intent {intent!r} is known",
                "the journal was written by a newer version: update selfimprove",
            )
        state = ROUND_INTENTS[intent](state, envelope, payload)
    elif envelope.type == "critique":
        state = critiqued(state, envelope, payload)
    elif envelope.type == "tool_call":
        state = call_begun(state, envelope, payload)
    else:
        state = call_ended(state, envelope, payload)
    if _shows(envelope) and state.round and state.round.status == "in_progress":
        state = with_round(state, updated_at=envelope.timestamp)
    return state


def _shows(envelope: Envelope) -> bool:
    """Whether a message moves the iteration state on, so that its document is worth writing."""
    if envelope.type == "control":
        return envelope.payload.get("event") not in UNSEEN
    return envelope.type == "plan_step"


def fold(envelopes: Iterable[Envelope], state: State | None = None) -> State:
    """Fold a sequence of envelopes onto `state` (or onto nothing)."""
    state = state or State()
    for envelope in envelopes:
        state = fold_one(state, envelope)
    return state
