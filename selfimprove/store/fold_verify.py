"""Folding what the verifier said of a brief, a plan or a change."""

from __future__ import annotations

from typing import Any

from selfimprove.contracts.envelope import Envelope
from selfimprove.contracts.verify import VerifyResult, VerifyTotals
from selfimprove.store.changes import changed, round_of, with_executor, with_planner, with_round
from selfimprove.store.state import State

_FIELDS = ("status", "score", "issues")


def verified(state: State, envelope: Envelope, payload: dict[str, Any]) -> State:
    """One more verification: of the round's brief where it names no planner and no executor."""
    found = VerifyResult.parse({name: payload[name] for name in _FIELDS}, envelope.id)
    totals = (state.verify or VerifyTotals()).plus(found.status, payload["attempt"])
    state = changed(state, verify=totals)
    if planner := payload.get("planner"):
        return with_planner(state, planner, verify=found)
    if executor := payload.get("executor"):
        before = round_of(state).executors[executor].verified
        return with_executor(state, executor, verified=[*before, payload["commit"]])
    return with_round(state, brief_verified=True)
