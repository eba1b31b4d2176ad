"""Candidates whose score does not count: how the record and a person are told; pure."""

from __future__ import annotations

from collections.abc import Iterator

from selfimprove.bench.verdicts import BEYOND
from selfimprove.contracts.benchmark import Disqualification
from selfimprove.store.state import State


def verdict(found: Disqualification) -> str:
    """The verdict in words: by which technique, or that a person is to look at it first."""
    if found.technique == BEYOND:
        return "in quarantine until you have looked at it"
    return f"disqualified, {found.technique}"


def told(found: Disqualification) -> str:
    """The verdict and its evidence."""
    return f"{verdict(found)}: {found.evidence}"


def disqualified(state: State) -> Iterator[tuple[str, Disqualification]]:
    """Plan and verdict of the latest rounds, the one under way last."""
    for record in state.recent:
        for loser in record.losers:
            if loser.disqualification:
                yield loser.plan_id, loser.disqualification
    current = state.round
    if current is None or current.history is not None:
        return
    for executor in current.executors.values():
        if executor.result and executor.result.disqualification:
            yield executor.plan_id, executor.result.disqualification
    for each in current.tournament.confirmations:
        if each.disqualification:
            yield current.executors[each.executor_id].plan_id, each.disqualification
