"""Folding what happens within a round."""

from __future__ import annotations

from typing import Any

from selfimprove.contracts.benchmark import BenchmarkResult, Disqualification
from selfimprove.contracts.brief import ResearchBrief
from selfimprove.contracts.critique import (
    CriticReply,
    QualityReport,
    Refinement,
    Remembered,
    RuleVerdict,
    refinement_kind,
)
from selfimprove.contracts.envelope import VERIFIER, Envelope
from selfimprove.contracts.history import HistoryRecord
from selfimprove.contracts.iteration import STEPS
from selfimprove.contracts.merge import MergeReport
from selfimprove.contracts.plan import ArchitectReview, Plan
from selfimprove.contracts.significance import Estimate, Judgement, Trial
from selfimprove.store.changes import (
    changed,
    round_of,
    with_confirmation,
    with_executor,
    with_planner,
    with_report,
    with_round,
    with_settings,
)
from selfimprove.store.fold_verify import verified
from selfimprove.store.state import (
    LAST_IDEAS,
    LAST_WINS,
    RECENT_ROUNDS,
    Confirmation,
    IdeaFate,
    Incumbent,
    Round,
    State,
    Win,
)
from selfimprove.store.state_actors import Candidate, ExecutorState, PlannerState, SentBack

Payload = dict[str, Any]


def round_started(state: State, envelope: Envelope, payload: Payload) -> State:
    """`round_started`: a new round, from the incumbent as it stands."""
    assert state.incumbent is not None
    new = Round(
        number=payload["round"],
        started_at=envelope.timestamp,
        updated_at=envelope.timestamp,
        incumbent=state.incumbent,
        spent_before=state.totals,
    )
    return changed(state, round=new, spans=[], final_pairs=[])


def step_completed(state: State, envelope: Envelope, payload: Payload) -> State:
    """`step_completed`: the round moves on to its next step."""
    step = payload["step"]
    done = {**round_of(state).step_done, step: envelope.timestamp}
    following = STEPS[min(STEPS.index(step) + 1, len(STEPS) - 1)]
    status = "completed" if step == "stop_check" else "in_progress"
    state = with_round(state, step=following, step_done=done, status=status)
    return with_report(state) if step == "stop_check" else state


def planning_again(state: State, envelope: Envelope, payload: Payload) -> State:
    """`planning_again`: too few plans passed; planners get a refinement and try once more."""
    current = round_of(state)
    done = {k: v for k, v in current.step_done.items() if k not in ("planning", "critic_review")}
    planners = {
        name: changed(planner, status="pending", reviewed=False, verdicts=[], critique_round=0)
        if planner.plan and not planner.plan.critic_approved
        else planner
        for name, planner in current.planners.items()
    }
    return with_round(
        state,
        step="planning",
        step_done=done,
        attempt=current.attempt + 1,
        planners=planners,
        refinement=Refinement.parse(payload["refinement"], envelope.id),
    )


def ideas_consumed(state: State, _: Envelope, payload: Payload) -> State:
    """`ideas_consumed`: this round took the user's queued ideas."""
    number = round_of(state).number
    fates = [IdeaFate(text=text, iteration=number, fate="consumed") for text in payload["ideas"]]
    kept = [*state.ideas, *fates][-LAST_IDEAS:]
    ideas = [*round_of(state).ideas, *payload["ideas"]]
    return with_round(changed(state, ideas=kept), ideas=ideas)


def families_assigned(state: State, _: Envelope, payload: Payload) -> State:
    """`families_assigned`: which families each planner may choose from."""
    planners = dict(round_of(state).planners)
    for name, given in payload["planners"].items():
        before = planners.get(name)
        planners[name] = PlannerState(
            families=given["families"],
            files=given.get("files", []),
            revision=before.revision if before else 0,
        )
    return with_round(state, planners=planners, assigned=payload["attempt"])


def planner_failed(state: State, _: Envelope, payload: Payload) -> State:
    """`planner_failed`: left out of this round."""
    return with_planner(
        state, payload["planner"], status="failed", error=payload["error"], plan=None
    )


def gated(state: State, envelope: Envelope, payload: Payload) -> State:
    """`gate`: the decision on a plan, with the reviews written into it, or on a change."""
    if "executor" in payload:
        return _gated_change(state, envelope, payload)
    if payload["decision"] == "retry":
        name = payload["planner"]
        rounds = round_of(state).planners[name].critique_round + 1
        # what critics object to stands in their issues
        own = payload.get("gate_policy") == "domain_specific"
        told = payload["reason"] if own else ""
        return with_planner(state, name, status="pending", critique_round=rounds, sent_back=told)
    plan = Plan.parse(payload["plan"], envelope.id)
    contested = payload["decision"] == "branch"
    return with_planner(state, plan.planner_id, plan=plan, reviewed=True, experiment=contested)


def _gated_change(state: State, envelope: Envelope, payload: Payload) -> State:
    name, decision = payload["executor"], payload["decision"]
    if decision != "retry":
        return with_executor(state, name, gate=decision, reason=payload["reason"])
    back = SentBack.parse(payload["sent_back"], envelope.id)
    revision = payload["revision"]
    return with_executor(state, name, candidate=None, sent_back=back, revision=revision)


def quality(state: State, envelope: Envelope, payload: Payload) -> State:
    """`quality`: how many plans of the round passed."""
    report = QualityReport.parse(payload["report"], envelope.id)
    state = _remembered(state, report)
    return with_round(state, quality=report, stock_taken=payload["attempt"])


def _remembered(state: State, report: QualityReport) -> State:
    """Whether the refinement that this attempt was made with helped: more plans passed."""
    tried, before = round_of(state).refinement, round_of(state).quality
    if tried is None or tried.level is None or before is None:
        return state
    kind = refinement_kind(tried.cause, tried.level)
    known = state.refinements.get(kind, Remembered())
    helped = known.helped + (report.verified > before.verified)
    new = Remembered(tried=known.tried + 1, helped=helped)
    return changed(state, refinements={**state.refinements, kind: new})


def executors_named(state: State, _: Envelope, payload: Payload) -> State:
    """`executors_named`: the k-th approved plan goes to executor k."""
    executors = {name: ExecutorState(plan_id=plan) for name, plan in payload["executors"].items()}
    return with_round(state, executors=executors)


def executor_status(state: State, _: Envelope, payload: Payload) -> State:
    """`executor_status`: an executor is running, or being measured."""
    return with_executor(state, payload["executor"], status=payload["status"])


def resulted(state: State, envelope: Envelope, payload: Payload) -> State:
    """`result`: what became of a candidate before the tournament."""
    result = BenchmarkResult.parse(payload["result"], envelope.id)
    return with_executor(state, result.executor_id, status=result.status, result=result)


def confirming(state: State, envelope: Envelope, payload: Payload) -> State:
    """`confirming`: a merge was built in the quarantine and is measured beside the incumbent."""
    new = Confirmation(
        executor_id=payload["executor"],
        merge_commit=payload["merge_commit"],
        base=payload["base"],
        trial=Trial.parse(payload["trial"], envelope.id),
    )
    tournament = round_of(state).tournament
    confirmations = [*tournament.confirmations, new]
    return with_round(state, tournament=changed(tournament, confirmations=confirmations))


def not_exact(state: State, _: Envelope, __: Payload) -> State:
    """`not_exact`: what repeated at the baseline no longer does; the pairs begin anew, as noisy."""
    assert state.facts is not None
    trial = changed(round_of(state).tournament.confirmations[-1].trial, deterministic=False)
    state = changed(state, facts=changed(state.facts, deterministic=False))
    return with_confirmation(state, trial=trial, pairs=[])


def confirmed(state: State, envelope: Envelope, payload: Payload) -> State:
    """`confirmation`: whether the candidate under way holds."""
    last = round_of(state).tournament.confirmations[-1]
    cheat = payload.get("disqualification")
    judgement = payload.get("judgement")
    return with_confirmation(
        state,
        holds=payload["holds"],
        reason=payload["reason"],
        judgement=Judgement.parse(judgement, envelope.id) if judgement else last.judgement,
        regressions=payload.get("regressions", []),
        score_before=payload.get("score_before", last.score_before),
        score_after=payload.get("score_after", last.score_after),
        disqualification=Disqualification.parse(cheat, envelope.id) if cheat else None,
        at=envelope.timestamp,
    )


def held_out(state: State, _: Envelope, payload: Payload) -> State:
    """`holdout`: the held-out benchmark's answer; a no undoes the win."""
    state = changed(state, holdout_asked=state.holdout_asked + 1)
    gain = payload.get("gain")
    if payload["answer"]:
        return with_confirmation(state, holdout=True, holdout_gain=gain)
    reason = payload["reason"]
    state = changed(state, holdout_refused=state.holdout_refused + 1)
    return with_confirmation(state, holdout=False, holdout_gain=gain, holds=False, reason=reason)


def closed(state: State, envelope: Envelope, payload: Payload) -> State:
    """`closed`: the score that is stored, and the commit that is published."""
    found = payload.get("estimate")
    return with_confirmation(
        state,
        score_before=payload["score_before"],
        score_after=payload["score_after"],
        estimate=Estimate.parse(found, envelope.id) if found else None,
        commit=payload["commit"],
    )


def reported(state: State, envelope: Envelope, payload: Payload) -> State:
    """`merge_report`: the tournament is over; a winner is the new incumbent."""
    report = MergeReport.parse(payload["report"], envelope.id)
    tournament = changed(round_of(state).tournament, report=report)
    if "incumbent" in payload:
        incumbent = Incumbent.parse(payload["incumbent"], envelope.id)
        # pairs of the tip before say nothing of this one
        state = changed(state, incumbent=incumbent, final_pairs=[])
    return with_round(state, tournament=tournament)


def recorded(state: State, envelope: Envelope, payload: Payload) -> State:
    """`recorded`: the history record, and the counters it leads to."""
    history = HistoryRecord.parse(payload["history"], envelope.id)
    state = with_settings(state, **payload["counters"])
    fates = {fate["text"]: fate["fate"] for fate in payload["idea_fates"]}
    ideas = [changed(idea, fate=fates.get(idea.text, idea.fate)) for idea in state.ideas]
    changes: dict[str, Any] = {"recent": [*state.recent, history][-RECENT_ROUNDS:], "ideas": ideas}
    won = [Win.parse(win, envelope.id) for win in payload["wins"]]
    changes["wins"] = [*state.wins, *won][-LAST_WINS:]
    changes["wins_total"] = state.wins_total + len(won)
    return with_round(changed(state, **changes), history=history)


def decided(state: State, _: Envelope, payload: Payload) -> State:
    """`decided`: stop_check says whether another round follows."""
    return with_round(state, decision=payload["decision"], reason=payload.get("reason", ""))


def researched(state: State, envelope: Envelope, payload: Payload) -> State:
    """Intent `research`: the brief."""
    return with_round(state, brief=ResearchBrief.parse(payload["brief"], envelope.id))


def planned(state: State, envelope: Envelope, payload: Payload) -> State:
    """Intent `plan`: a planner's plan, or its revision."""
    plan = Plan.parse(payload["plan"], envelope.id)
    revision = round_of(state).planners[plan.planner_id].revision + 1
    return with_planner(
        state,
        plan.planner_id,
        plan=plan,
        revision=revision,
        status="completed",
        reviewed=False,
        verdicts=[],
        critiques=[],
        architect=None,
        word=None,
        verify=None,
        error="",
    )


def executed(state: State, envelope: Envelope, payload: Payload) -> State:
    """Intent `execute`: an executor's candidate commit."""
    candidate = Candidate.parse(payload["candidate"], envelope.id)
    return with_executor(state, payload["executor"], candidate=candidate, critiques=[], gate="")


def critiqued(state: State, envelope: Envelope, payload: Payload) -> State:
    """A critique: rule verdicts in code, the architect's advice, or an agent's score."""
    if payload["critic"] == VERIFIER:
        return verified(state, envelope, payload)
    if "executor" in payload:
        return _criticised(state, envelope, payload)
    planner = payload.get("planner")
    if planner is None:
        return state
    current = round_of(state).planners[planner]
    if "verdicts" in payload:
        found = [RuleVerdict.parse(verdict, envelope.id) for verdict in payload["verdicts"]]
        return with_planner(state, planner, verdicts=found)
    if payload["critic"] == "architect":
        advice = ArchitectReview.parse(payload["advice"], envelope.id)
        return with_planner(state, planner, architect=advice)
    return with_planner(state, planner, critiques=[*current.critiques, _reply(envelope, payload)])


def _criticised(state: State, envelope: Envelope, payload: Payload) -> State:
    name = payload["executor"]
    said = [*round_of(state).executors[name].critiques, _reply(envelope, payload)]
    return with_executor(state, name, critiques=said)


def _reply(envelope: Envelope, payload: Payload) -> CriticReply:
    fields = {name: payload[name] for name in ("score", "issues", "summary") if name in payload}
    return CriticReply.parse(fields, envelope.id)


ROUND_EVENTS = {
    "round_started": round_started,
    "step_started": lambda state, _, __: state,
    "step_completed": step_completed,
    "planning_again": planning_again,
    "ideas_consumed": ideas_consumed,
    "families_assigned": families_assigned,
    "planner_failed": planner_failed,
    "gate": gated,
    "quality": quality,
    "executors_named": executors_named,
    "executor_status": executor_status,
    "result": resulted,
    "confirming": confirming,
    "not_exact": not_exact,
    "confirmation": confirmed,
    "holdout": held_out,
    "closed": closed,
    "merge_report": reported,
    "recorded": recorded,
    "decided": decided,
}
ROUND_INTENTS = {"research": researched, "plan": planned, "execute": executed}
