"""Frozen state, changed by copies: the few moves that every fold function makes."""

from __future__ import annotations

from typing import Any, TypeVar

from selfimprove.contracts.agent import CostOfWin, RunReport, RunTotals
from selfimprove.contracts.base import Record
from selfimprove.store.state import Round, State
from selfimprove.store.state_actors import ExecutorState, PlannerState

R = TypeVar("R", bound=Record)


def changed(record: R, **changes: Any) -> R:
    """A copy of `record` with fields replaced."""
    return record.model_copy(update=changes)


def round_of(state: State) -> Round:
    """The round under way; a journal that speaks of a round before starting one is broken."""
    if state.round is None:
        raise ValueError("the journal speaks of a round before any has started")
    return state.round


def with_round(state: State, **changes: Any) -> State:
    """The state with fields of its round replaced."""
    return changed(state, round=changed(round_of(state), **changes))


def with_planner(state: State, planner_id: str, **changes: Any) -> State:
    """The state with fields of one planner replaced."""
    planners = dict(round_of(state).planners)
    planners[planner_id] = changed(planners.get(planner_id, PlannerState(families=[])), **changes)
    return with_round(state, planners=planners)


def with_executor(state: State, executor_id: str, **changes: Any) -> State:
    """The state with fields of one executor replaced."""
    executors: dict[str, ExecutorState] = dict(round_of(state).executors)
    executors[executor_id] = changed(executors[executor_id], **changes)
    return with_round(state, executors=executors)


def with_confirmation(state: State, **changes: Any) -> State:
    """The state with fields of the confirmation under way replaced."""
    tournament = round_of(state).tournament
    *earlier, last = tournament.confirmations
    confirmations = [*earlier, changed(last, **changes)]
    return with_round(state, tournament=changed(tournament, confirmations=confirmations))


def with_settings(state: State, **changes: Any) -> State:
    """The state with fields of agent-settings replaced."""
    if state.settings is None:
        raise ValueError("the journal changes a run before beginning one")
    return changed(state, settings=changed(state.settings, **changes))


def with_report(state: State) -> State:
    """The state with run.json brought up to date."""
    if state.facts is None:
        return state
    report = RunReport(
        run_id=state.facts.run_id, totals=state.totals, spans=state.spans, verify=state.verify
    )
    if state.models:  # an old journal does not say who was asked, and folds to what it did then
        report = changed(
            report,
            models=state.models,
            wins=state.wins_total,
            cost_per_win=cost_of_win(state.totals, state.wins_total),
        )
    return changed(state, report=report)


def cost_of_win(totals: RunTotals, wins: int) -> CostOfWin | None:
    """What an accepted win came to; None before the first."""
    if not wins:
        return None
    return CostOfWin(calls=totals.calls / wins, tokens=totals.tokens / wins, usd=totals.usd / wins)
