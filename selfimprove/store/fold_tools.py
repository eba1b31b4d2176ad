"""Folding intents and their results: agent calls, benchmark runs, git effects."""

from __future__ import annotations

from typing import Any

from selfimprove.contracts.agent import RunTotals, Span, Usage
from selfimprove.contracts.benchmark import INCUMBENT, Canary, Pair, Sample
from selfimprove.contracts.critique import RuleVerdict
from selfimprove.contracts.envelope import Envelope
from selfimprove.names import parent_of, role_of
from selfimprove.store.changes import (
    changed,
    round_of,
    with_confirmation,
    with_executor,
    with_planner,
    with_round,
)
from selfimprove.store.state import LAST_SPANS, Deed, State

Payload = dict[str, Any]


def call_begun(state: State, envelope: Envelope, payload: Payload) -> State:
    """An intent was journaled; its effect may or may not have happened."""
    deed = Deed(
        tool=payload["tool"],
        args_hash=payload["args_hash"],
        seq=envelope.seq,
        timestamp=envelope.timestamp,
    )
    return changed(state, open_deeds={**state.open_deeds, envelope.correlation_id: deed})


def call_ended(state: State, envelope: Envelope, payload: Payload) -> State:
    """An intent was answered."""
    deed = state.open_deeds.get(envelope.correlation_id)
    left = {k: v for k, v in state.open_deeds.items() if k != envelope.correlation_id}
    state = changed(state, open_deeds=left)
    result = payload["result"]
    tool = payload["tool"]
    if tool == "agent.ask":
        state = _charged(state, envelope, payload)
        if state.round and "reply" in result:
            state = with_round(state, answered=[*state.round.answered, result["reply"]])
    elif tool == "benchmark.run" and "sample" in result:
        state = _sampled(state, envelope, result)
    elif tool == "benchmark.pair" and "pair" in result:
        state = _paired(state, Pair.parse(result["pair"], envelope.id), result["purpose"])
    elif tool == "benchmark.canary":
        found = Canary.parse(result["canary"], envelope.id)
        others = [each for each in state.canaries if each.name != found.name]
        state = changed(state, canaries=[*others, found])
    elif tool == "gate.command":
        word = RuleVerdict.parse(result["word"], envelope.id)
        state = with_planner(state, result["planner"], word=word)
    elif tool == "git.publish" and "published" in result:
        state = changed(state, published=result["published"])
    return _spanned(state, envelope, payload, deed)


def _charged(state: State, envelope: Envelope, payload: Payload) -> State:
    usage = Usage.model_validate(payload.get("metrics", {}))
    if state.round:
        step = envelope.correlation_id.partition("/")[2].partition("/")[0]
        share = f"{step}/{role_of(payload['result'].get('agent', ''))}"
        before = state.round.spent.get(share, Usage(calls=0))
        state = with_round(state, spent={**state.round.spent, share: before.plus(usage)})
    if spec := payload["result"].get("spec"):
        cost = state.models.get(spec, RunTotals()).plus(usage)
        state = changed(state, models={**state.models, spec: cost})
    return changed(state, totals=state.totals.plus(usage))


def _sampled(state: State, envelope: Envelope, result: Payload) -> State:
    sample = Sample.parse(result["sample"], envelope.id)
    executor = result.get("executor")
    if executor is None:
        seen = {**state.seen, **result.get("seen", {})}
        return changed(state, samples=[*state.samples, sample], seen=seen)
    if executor == INCUMBENT:
        return with_round(state, incumbent_runs=[*round_of(state).incumbent_runs, sample])
    before = round_of(state).executors[executor]
    samples = [*before.samples, sample]
    return with_executor(state, executor, samples=samples, raw=result.get("raw", before.raw))


def _paired(state: State, pair: Pair, purpose: str) -> State:
    if purpose == "final":
        return changed(state, final_pairs=[*state.final_pairs, pair])
    last = round_of(state).tournament.confirmations[-1]
    if purpose == "closing":
        return with_confirmation(state, closing=[*last.closing, pair])
    return with_confirmation(state, pairs=[*last.pairs, pair])


def _spanned(state: State, envelope: Envelope, payload: Payload, deed: Deed | None) -> State:
    asked: Payload = payload["result"] if payload["tool"] == "agent.ask" else {}
    span = Span(
        name=envelope.correlation_id,
        agent=asked.get("agent", ""),
        spec=asked.get("spec", ""),
        # an old journal does not say who was asked, and folds to what it did then
        parent=parent_of(envelope.correlation_id) if state.models else "",
        failed=asked.get("kind", "") if "spec" in asked else "",
        round=state.number,
        started_at=deed.timestamp if deed else envelope.timestamp,
        duration_s=float(payload.get("metrics", {}).get("duration_s", 0.0)),
        usage=Usage.model_validate(payload["metrics"])
        if asked and payload.get("metrics")
        else None,
    )
    return changed(state, spans=[*state.spans, span][-LAST_SPANS:])
