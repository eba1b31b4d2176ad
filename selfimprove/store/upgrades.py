"""Journal lines of earlier versions, as today's fold reads them; pure.

A function for each kind of line that was written otherwise once; what is as it is written now is
left alone. `store/migrating.py` applies them, to a copy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from selfimprove.contracts.envelope import Envelope, args_hash
from selfimprove.contracts.significance import Trial
from selfimprove.store.state import State

Payload = dict[str, Any]
Upgrade = Callable[[State, Envelope], Payload]
OLD_PAIRS = 3
"""The first rule: a noisy candidate had to win each of so many pairs, an exact one its one pair."""


def upgraded(state: State, envelope: Envelope) -> Envelope:
    """One line as it would be written now, `state` being what the upgraded lines before it fold to.

    The line itself where nothing of it is old. Chain and folded states are not looked at.
    """
    payload = envelope.payload
    name = str(payload.get("tool") or payload.get("event"))
    upgrade = _UPGRADES.get((envelope.type, name))
    return envelope if upgrade is None else _with(envelope, upgrade(state, envelope))


def _with(envelope: Envelope, payload: Payload) -> Envelope:
    if payload == envelope.payload:
        return envelope
    return envelope.model_copy(update={"payload": payload})


def _confirming(state: State, envelope: Envelope) -> Payload:
    """What a candidate was measured beside, and what was to be decided, went without saying."""
    payload = envelope.payload
    if "trial" in payload or state.round is None or state.facts is None:
        return payload
    exact = bool(state.facts.deterministic)
    trial = Trial(
        direction=state.facts.direction,
        stake=0.5**OLD_PAIRS,  # so often luck alone wins them all
        max_pairs=1 if exact else OLD_PAIRS,
        deterministic=exact,
    )
    return {**payload, "base": state.round.incumbent.commit, "trial": trial.document()}


def _pair_begun(_: State, envelope: Envelope) -> Payload:
    """Pairs had one purpose."""
    payload = envelope.payload
    if "purpose" in payload["args"]:
        return payload
    args = {**payload["args"], "purpose": "confirmation"}
    return {**payload, "args": args, "args_hash": args_hash(args)}


def _pair_ended(state: State, envelope: Envelope) -> Payload:
    payload = envelope.payload
    result, deed = payload["result"], state.open_deeds.get(envelope.correlation_id)
    if "pair" not in result or "purpose" in result or deed is None:
        return payload
    executor = envelope.correlation_id.split("/")[2]
    more = {"executor": executor, "purpose": "confirmation"}
    return {**payload, "args_hash": deed.args_hash, "result": {**result, **more}}


def _recorded(_: State, envelope: Envelope) -> Payload:
    """A round had one win at most."""
    payload = envelope.payload
    if "wins" in payload:
        return payload
    win = payload.get("win")
    rest = {name: value for name, value in payload.items() if name != "win"}
    return {**rest, "wins": [win] if win else []}


_UPGRADES: dict[tuple[str, str], Upgrade] = {
    ("control", "confirming"): _confirming,
    ("tool_call", "benchmark.pair"): _pair_begun,
    ("tool_result", "benchmark.pair"): _pair_ended,
    ("control", "recorded"): _recorded,
}
