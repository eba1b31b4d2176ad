"""`replay`: fold a round again and derive its decisions from the record alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from selfimprove.bench.sequential import judge
from selfimprove.contracts.envelope import Envelope
from selfimprove.contracts.settings import Settings
from selfimprove.contracts.significance import Trial
from selfimprove.errors import ConfigError
from selfimprove.places import root_of
from selfimprove.steps.confirming import MOST_PAIRS, estimate
from selfimprove.steps.tournament import ranked
from selfimprove.store.fold import fold_one
from selfimprove.store.journal import last_checkpoint
from selfimprove.store.layout import Layout
from selfimprove.store.record import envelopes
from selfimprove.store.state import Confirmation, State
from selfimprove.vcs.target import open_target

if TYPE_CHECKING:
    from selfimprove.app.options import ReplayOptions


def replay(options: ReplayOptions) -> int:
    """Compare every decision of a round with what its records lead to; 1 where one differs."""
    top = options.root or root_of(open_target(options.repo).top, options.topic)
    layout = Layout(top.absolute())
    lines = envelopes(layout, options.round)
    before = envelopes(layout, options.round - 1)
    saved = last_checkpoint(before)
    if not lines or saved is None:
        raise ConfigError(
            f"round {options.round} is not in the journal of {layout.root}", "see history"
        )
    state = State.parse(saved, f"checkpoint of round {options.round - 1}")
    found = list(_differences(state, lines))
    if options.json:
        print(json.dumps({"round": options.round, "differences": found}, indent=2))  # noqa: T201
    else:
        for line in found or [f"round {options.round}: every decision is derived again"]:
            print(line)  # noqa: T201
    return 1 if found else 0


def _differences(state: State, lines: list[Envelope]) -> Iterator[str]:
    for envelope in lines:
        if envelope.type == "control":
            yield from _decision(state, envelope, envelope.payload)
        state = fold_one(state, envelope)
        saved = envelope.payload.get("state") if envelope.type == "control" else None
        if saved is not None and saved != state.document():
            yield f"{envelope.id}: the checkpoint is not what the round's lines fold to"


def _decision(state: State, envelope: Envelope, payload: dict[str, Any]) -> Iterator[str]:
    """What the state before a decision leads to, against what was decided."""
    if payload.get("event") == "confirmation" and state.round:
        yield from _verdict(state, envelope, state.round.tournament.confirmations[-1])
    if payload.get("event") == "closed" and state.round:
        last = state.round.tournament.confirmations[-1]
        found = estimate(state, last.closing)
        if payload.get("estimate") != (found.document() if found else None):
            yield f"{envelope.id}: {last.executor_id}: the closing pairs give another estimate"
    if payload.get("event") == "confirming" and state.round:
        tried = [each.executor_id for each in state.round.tournament.confirmations]
        following = [name for name in ranked(state) if name not in tried]
        if following[:1] != [payload["executor"]]:
            yield f"{envelope.id}: {payload['executor']} was tried, {following[:1]} ranks next"


def _verdict(state: State, envelope: Envelope, last: Confirmation) -> Iterator[str]:
    """The verdict on a candidate, against what its pairs say."""
    payload = envelope.payload
    if "judgement" not in payload and not payload["holds"]:
        return  # it could not be merged or measured
    verdict = judge(last.pairs, _trial(state, last.stake))
    refused = bool(payload.get("regressions"))
    if (verdict.outcome == "win") != (payload["holds"] or refused):
        yield f"{envelope.id}: {last.executor_id}: the pairs say {verdict.reason}"
    elif payload["holds"] and refused:
        yield f"{envelope.id}: {last.executor_id}: it holds, though it breaks a condition"


def _trial(state: State, stake: float) -> Trial:
    """The test as it was fixed: by the settings that were in force."""
    assert state.facts is not None
    settings = Settings.parse(state.config, "the recorded settings")
    return Trial(
        direction=state.facts.direction,
        stake=stake,
        max_pairs=settings.significance.max_pairs or MOST_PAIRS,
        min_effect=settings.significance.min_effect,
        deterministic=state.facts.deterministic,
    )
