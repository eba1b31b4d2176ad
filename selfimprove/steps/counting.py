"""The counters that end a run, and what a round did to them; pure (rules.md, "Counters")."""

from __future__ import annotations

from typing import Any

from selfimprove.bench.stats import relative_gain
from selfimprove.contracts.settings import Settings
from selfimprove.store.state import Round, State


def counters(state: State, settings: Settings) -> dict[str, Any]:
    """The fields of agent-settings after the round under way is recorded."""
    current, before = state.round, state.settings
    assert current is not None
    assert before is not None
    assert state.facts is not None
    plateau, patience, breaker = (
        before.plateau_consecutive_count,
        before.patience_count,
        before.circuit_breaker_count,
    )
    report = current.tournament.report
    if report and report.winner:
        last = report.stacked[-1] if report.stacked else report.winner
        gain = relative_gain(report.winner.score_before, last.score_after, state.facts.direction)
        plateau = 0 if gain >= settings.plateau_threshold else plateau + 1
        patience = breaker = 0
    elif measured(current):
        patience += 1
    else:
        breaker += 1
    return {
        "iterations": current.number,
        "best_score": state.incumbent.score if state.incumbent else None,
        "plateau_consecutive_count": plateau,
        "patience_count": patience,
        "circuit_breaker_count": breaker,
    }


def measured(current: Round) -> bool:
    """Whether anything of the round was measured honestly."""
    return any(
        executor.result is not None
        and executor.result.benchmark_score is not None
        and executor.result.disqualification is None
        for executor in current.executors.values()
    )
