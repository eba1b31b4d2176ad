"""Step 6: what the round tried and what came of it, for charts and for the rounds after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from selfimprove.contracts.benchmark import BenchmarkResult, FailureAnalysis
from selfimprove.contracts.envelope import Draft, control
from selfimprove.contracts.history import HistoryRecord, Loser, Winner
from selfimprove.contracts.merge import MergeWinner
from selfimprove.contracts.plan import Plan
from selfimprove.contracts.settings import Settings
from selfimprove.contracts.tracking import RawDataRow
from selfimprove.deps import Deps
from selfimprove.review.assertions import counted
from selfimprove.review.context import plan_key
from selfimprove.steps.base import Drafts, round_of, topic
from selfimprove.steps.counting import counters
from selfimprove.steps.milestones import transitions
from selfimprove.store.state import Confirmation, Round, State, Win

ESTIMATE = 200
"""Characters of a plan's estimate that the index of attempts keeps."""


def run(state: State, deps: Deps) -> Drafts:
    """Record the round, note milestones and phases, then clear away what it left behind."""
    if round_of(state).history is None:
        parent = deps.workshop.tree_oid(round_of(state).incumbent.commit)
        state = yield recorded(state, deps.config.settings, parent)
    for about, event, details in transitions(state, deps.config.goal):
        state = yield control(
            topic(state, "recording", about),
            event,
            iteration=round_of(state).number,
            details=details,
        )
    deps.workshop.tidy(keep=[state.incumbent.commit] if state.incumbent else [])


def recorded(state: State, settings: Settings, parent: str) -> Draft:
    """What the round comes to, from its record; `parent` is the incumbent's tree."""
    current = round_of(state)
    merged = _merged(current)
    first = next(iter(merged.values()), None)
    history = HistoryRecord(
        iteration=current.number,
        baseline_score=current.incumbent.score,
        winner=_winner(current, first) if first else None,
        losers=list(_losers(current, merged)),
        research_brief_id=f"round_{current.number}",
    )
    return control(
        topic(state, "recording"),
        "recorded",
        history=history.document(),
        rows=[row.document() for row in _rows(current, merged)],
        attempts=list(_attempts(state, parent, merged)),
        counters=counters(state, settings),
        idea_fates=_idea_fates(current, merged),
        wins=[_win(current, each).document() for each in merged.values()],
    )


def _merged(current: Round) -> dict[str, MergeWinner]:
    """The merges of the round by executor: the winner, then what was stacked on it."""
    report = current.tournament.report
    if report is None or report.winner is None:
        return {}
    return {each.executor_id: each for each in (report.winner, *report.stacked)}


def _winner(current: Round, winner: MergeWinner) -> Winner:
    plan = current.plan_of(winner.executor_id)
    return Winner(
        plan_id=plan.plan_id,
        score=winner.score_after,
        approach_family=plan.approach_family,
        hypothesis=plan.hypothesis,
        sub_scores=winner.sub_scores,
    )


def _win(current: Round, winner: MergeWinner) -> Win:
    plan = current.plan_of(winner.executor_id)
    confirmation = current.confirmation_of(winner.executor_id)
    assert confirmation is not None
    return Win(
        iteration=current.number,
        plan_id=plan.plan_id,
        hypothesis=plan.hypothesis,
        approach_family=plan.approach_family,
        commit=confirmation.commit,
        score_before=winner.score_before,
        score_after=winner.score_after,
    )


def _settled(current: Round) -> Iterator[tuple[str, Plan, BenchmarkResult]]:
    for name, executor in current.executors.items():
        if executor.result is not None:
            yield name, current.plan_of(name), executor.result


def _losers(current: Round, merged: Mapping[str, MergeWinner]) -> Iterator[Loser]:
    for name, plan, result in _settled(current):
        if name in merged:
            continue
        confirmation = current.confirmation_of(name)
        yield Loser(
            plan_id=plan.plan_id,
            score=result.benchmark_score,
            approach_family=plan.approach_family,
            hypothesis=plan.hypothesis,
            sub_scores=result.sub_scores if result.benchmark_score is not None else None,
            failure_analysis=result.failure_analysis or _lost(confirmation),
            disqualification=result.disqualification
            or (confirmation.disqualification if confirmation else None),
        )


def _lost(confirmation: Confirmation | None) -> FailureAnalysis | None:
    """Why a measured candidate that was tried in the tournament was not merged.

    Agents read it: what the held-out benchmark answered is not in it.
    """
    if confirmation is None or not confirmation.merge_commit:
        return None
    what = f"not confirmed beside the incumbent: {confirmation.reason}"
    why = "its first measurement was better by luck, or no better at all"
    lesson = "the gain, if there is one, is smaller than the benchmark's noise"
    if confirmation.holdout is False:
        what = "not confirmed beside the incumbent"
    elif confirmation.regressions:
        what = f"better, but refused: {confirmation.reason}"
        why = f"it does not keep {', '.join(confirmation.regressions)}"
        lesson = "a gain counts only where every declared condition is kept"
    elif confirmation.judgement is None:
        why = "the merged candidate could not be measured"
        lesson = "it must work on top of whatever else was merged, each time it runs"
    return FailureAnalysis(what=what, why=why, category="regression", lesson=lesson)


def _rows(current: Round, merged: Mapping[str, MergeWinner]) -> Iterator[RawDataRow]:
    for name, plan, result in _settled(current):
        score = merged[name].score_after if name in merged else result.benchmark_score
        yield RawDataRow(
            iteration=current.number,
            plan_id=plan.plan_id,
            benchmark_score=score,
            is_winner=name in merged,
            approach_family=plan.approach_family,
            sub_scores=result.sub_scores if score is not None else None,
        )


def outcome(
    current: Round, name: str, result: BenchmarkResult, merged: Mapping[str, MergeWinner]
) -> str:
    """What an attempt came to; a `runner_up` was measured, but not beside the incumbent."""
    if name in merged:
        return "won"
    confirmation = current.confirmation_of(name)
    if result.disqualification or (confirmation and confirmation.disqualification):
        return "disqualified"
    if result.status == "success" and (confirmation is None or not confirmation.merge_commit):
        return "runner_up"
    return "lost" if result.status == "success" else result.status


def _attempts(
    state: State, parent: str, merged: Mapping[str, MergeWinner]
) -> Iterator[dict[str, Any]]:
    current = round_of(state)
    by_plan = {executor.plan_id: name for name, executor in current.executors.items()}
    for planner in current.planners.values():
        plan = planner.plan
        if plan is None:
            continue
        row: dict[str, Any] = {
            "plan_id": plan.plan_id,
            "round": current.number,
            "approach_family": plan.approach_family,
            "hypothesis": plan.hypothesis,
            "target_files": plan.target_files,
            "steps": [step.document() for step in plan.steps],
            "tool_plan": [use.document() for use in plan.tool_plan],
            "estimated_impact": plan.expected_outcome.estimated_impact[:ESTIMATE],
            "confidence": plan.confidence,
            "key": plan_key(plan),
            "parent": parent,
            "tree": "",
            "score": None,
            "incumbent_score": current.incumbent.score,
            "outcome": "rejected",
        }
        if planner.experiment:
            row["experiment"] = True
        name = by_plan.get(plan.plan_id)
        result = current.executors[name].result if name else None
        if name and result:
            candidate = current.executors[name].candidate
            row["tree"] = candidate.tree if candidate else ""
            row["score"] = result.benchmark_score
            if told := counted(result.assertions):
                row["assertions"] = told
            row["outcome"] = outcome(current, name, result, merged)
            if name in merged:
                row["score"] = merged[name].score_after
                row["incumbent_score"] = merged[name].score_before
        yield row


def _idea_fates(current: Round, merged: Mapping[str, MergeWinner]) -> list[dict[str, str]]:
    """What became of each user idea that the round consumed."""
    fates = []
    merged_plans = {current.executors[name].plan_id for name in merged}
    for idea in current.ideas:
        fate = "consumed, not planned"
        for planner in current.planners.values():
            plan = planner.plan
            if plan is None or not _speaks_of(plan, idea):
                continue
            fate = f"planned as {plan.plan_id}"
            if not plan.critic_approved:
                fate += ", rejected"
            elif plan.plan_id in merged_plans:
                fate += ", merged"
            else:
                fate += ", not merged"
        fates.append({"text": idea, "fate": fate})
    return fates


def _speaks_of(plan: Plan, idea: str) -> bool:
    text = " ".join(plan.model_dump_json().casefold().split())
    return " ".join(idea.casefold().split()) in text
