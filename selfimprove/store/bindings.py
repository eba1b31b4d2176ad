"""Whether every sample of a journal was measured of what it is told of; pure.

A measurement is announced with a commit and answered with a sample and its binding: commit, tree,
benchmark, settings, and a nonce of that run alone. What does not agree is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from selfimprove.contracts.benchmark import INCUMBENT, Binding, Pair, Sample
from selfimprove.contracts.envelope import Envelope
from selfimprove.store.state import State

MEASURING = ("benchmark.run", "benchmark.pair")


class Bindings:
    """Looks at the messages of a journal in order."""

    def __init__(self) -> None:
        self._asked: dict[str, dict[str, Any]] = {}
        self._nonces: set[str] = set()
        self._trees: dict[str, str] = {}
        self._baseline = ""

    def check(self, state: State, envelope: Envelope) -> Iterator[str]:
        """What is wrong with one message, `state` being as it was before it."""
        payload = envelope.payload
        if payload.get("event") == "run_begun":
            self._baseline = ""  # a set-up that did not end is begun anew
        elif envelope.type == "tool_call" and payload.get("tool") in MEASURING:
            self._asked[envelope.correlation_id] = payload["args"]
        elif envelope.type == "tool_result" and payload.get("tool") in MEASURING:
            args = self._asked.pop(envelope.correlation_id, {})
            for problem in self._answered(state, args, payload["result"]):
                yield f"{envelope.id} ({envelope.correlation_id}): {problem}"

    def _answered(
        self, state: State, args: dict[str, Any], result: dict[str, Any]
    ) -> Iterator[str]:
        samples = _samples(result)
        if not samples:
            return
        told = result.get("bound", [])
        told = [told] if isinstance(told, dict) else told
        bindings = [Binding.parse(each, "bound") for each in told]
        if not told:
            if self._nonces:  # a run that an older version began has none at first
                yield "the sample is bound to nothing"
            return
        commits = args.get("commits", [args.get("commit")])
        wanted = _wanted(state, args)
        for sample, binding, asked in zip(samples, bindings, commits, strict=False):
            yield from self._one(state, sample, binding)
            if binding.commit != asked:
                yield f"measured {binding.commit[:12]}, and {str(asked)[:12]} was to be"
        if wanted and [each.commit for each in bindings] != wanted:
            yield f"the plan's is {', '.join(each[:12] for each in wanted)}"

    def _one(self, state: State, sample: Sample, binding: Binding) -> Iterator[str]:
        if not binding.holds(sample):
            yield "sample and binding are not of one measurement"
        if binding.nonce in self._nonces:
            yield "its nonce is another measurement's"
        self._nonces.add(binding.nonce)
        tree = self._trees.setdefault(binding.commit, _tree_of(state, binding))
        if binding.tree != tree:
            yield f"the tree of {binding.commit[:12]} is {tree[:12]}, not {binding.tree[:12]}"
        mark = state.fingerprint
        if mark is None:  # what the baseline's runs open is not sealed yet
            self._baseline = self._baseline or binding.benchmark
            if binding.benchmark != self._baseline:
                yield "it was made by another benchmark than the baseline's other runs"
            return
        if binding.benchmark != mark.benchmark:
            yield "it was made by another benchmark than the fingerprint's"
        if binding.settings != mark.settings:
            yield "it was made under other settings than the fingerprint's"


def _samples(result: dict[str, Any]) -> Sequence[Sample]:
    if "pair" in result:
        pair = Pair.parse(result["pair"], "pair")
        return [pair.incumbent, pair.candidate]
    return [Sample.parse(result["sample"], "sample")] if "sample" in result else []


def _wanted(state: State, args: dict[str, Any]) -> list[str]:
    """The commits that the record says are to be measured for this purpose; empty for any."""
    current, name = state.round, str(args.get("executor", ""))
    if args.get("purpose") == "baseline":
        return [state.facts.base_commit] if state.facts else []
    if current is None:
        return []
    if args.get("purpose") == "screening":
        if name == INCUMBENT:
            return [current.incumbent.commit]
        candidate = current.executors[name].candidate if name in current.executors else None
        return [candidate.commit] if candidate else []
    if args.get("purpose") in ("confirmation", "closing"):
        tried = [c for c in current.tournament.confirmations if c.executor_id == name]
        return [tried[-1].base, tried[-1].merge_commit] if tried else []
    if args.get("purpose") == "final" and state.baseline and state.incumbent:
        return [state.baseline.commit, state.incumbent.commit]
    return []


def _tree_of(state: State, binding: Binding) -> str:
    """The tree that the record knows a commit by, else the one first told."""
    executors = state.round.executors.values() if state.round else ()
    known = {each.candidate.commit: each.candidate.tree for each in executors if each.candidate}
    return known.get(binding.commit, binding.tree)
