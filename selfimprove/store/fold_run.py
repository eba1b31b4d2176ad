"""Folding what concerns the run as a whole: set-up, trust, baseline, stops."""

from __future__ import annotations

from typing import Any

from selfimprove.contracts.agent import AgentSettings
from selfimprove.contracts.benchmark import Fingerprint
from selfimprove.contracts.envelope import Envelope
from selfimprove.contracts.significance import Estimate
from selfimprove.contracts.tracking import Baseline
from selfimprove.store.changes import changed, with_report, with_round, with_settings
from selfimprove.store.state import LAST_OUTSIDE, Facts, Incumbent, Outside, State


def begun(state: State, envelope: Envelope, payload: dict[str, Any]) -> State:
    """`run_begun`: set-up fixed the facts."""
    facts = Facts.parse(payload["facts"], envelope.id)
    state = changed(state, samples=[], seen={}, canaries=[])
    settings = state.settings or AgentSettings(goal_slug=facts.goal_slug, topic_slug=facts.topic)
    settings = changed(settings, current_phase=payload.get("phase"))
    return changed(state, facts=facts, settings=settings, phase=payload.get("phase"))


def trusted(state: State, _: Envelope, payload: dict[str, Any]) -> State:
    """`trusted`: a person confirmed what would run, bound to its digest; empty: taken back."""
    confirmed = bool(payload["digest"])
    return with_settings(changed(state, trust=payload["digest"]), trust_confirmed=confirmed)


def baselined(state: State, envelope: Envelope, payload: dict[str, Any]) -> State:
    """`baseline`: the first score, or the incumbent's after conditions changed."""
    incumbent = Incumbent.parse(payload["incumbent"], envelope.id)
    fingerprint = Fingerprint.parse(payload["fingerprint"], envelope.id)
    state = changed(state, incumbent=incumbent, fingerprint=fingerprint, samples=[], seen={})
    if "facts" in payload:
        state = changed(state, facts=Facts.parse(payload["facts"], envelope.id))
    if "baseline" not in payload:
        return with_settings(state, best_score=incumbent.score)
    baseline = Baseline.parse(payload["baseline"], envelope.id)
    return with_settings(
        changed(state, baseline=baseline),
        baseline_score=baseline.score,
        best_score=baseline.score,
    )


def opened(state: State, _: Envelope, payload: dict[str, Any]) -> State:
    """`run_opened`: a process took the run up."""
    state = with_settings(state, status="running", reason="", waiting_until="")
    if state.round and state.round.status == "interrupted":
        state = with_round(state, status="in_progress")
    if "settings" in payload:
        state = changed(state, config=payload["settings"])
    if state.facts and "target_value" in payload:
        told = {name: payload[name] for name in ("objective", "unit") if name in payload}
        facts = changed(state.facts, target_value=payload["target_value"], **told)
        state = changed(state, facts=facts, goal_sha256=payload["goal_sha256"])
    lost = int(payload.get("repeated_calls", 0))
    return changed(state, open_deeds={}, repeated_calls=state.repeated_calls + lost)


def waiting(state: State, _: Envelope, payload: dict[str, Any]) -> State:
    """`waiting`: an agent cannot be reached for now."""
    return with_settings(
        state,
        status="waiting",
        reason=payload.get("reason", ""),
        waiting_until=payload.get("until", ""),
    )


def waited(state: State, _: Envelope, payload: dict[str, Any]) -> State:
    """`waited`: the wait is over, and the agent is asked again."""
    state = with_settings(state, status="running", reason="", waiting_until="")
    if state.round is None:
        return state
    return with_round(state, waited_s=(state.round.waited_s or 0.0) + payload["seconds"])


def stopped(state: State, _: Envelope, payload: dict[str, Any]) -> State:
    """`stopped`: a process let the run go; a round that was under way waits to be resumed."""
    state = with_settings(state, status=payload["status"], reason=payload.get("reason", ""))
    if state.round and state.round.status == "in_progress":
        state = with_round(state, status="interrupted")
    return with_report(state)


def config_changed(state: State, _: Envelope, payload: dict[str, Any]) -> State:
    """`config_change`: a setting is another one than that of the process before."""
    details = payload["details"]
    return changed(state, config={**state.config, details["field"]: details["new_value"]})


def unchanged(state: State, _: Envelope, __: dict[str, Any]) -> State:
    """Events that are for readers, and change nothing."""
    return state


def outside_changed(state: State, _: Envelope, payload: dict[str, Any]) -> State:
    """`outside_changed`: somebody else changed something in the user's repository."""
    found = Outside(iteration=state.number, changed=payload["changed"])
    return changed(state, outside=[*state.outside, found][-LAST_OUTSIDE:])


def final(state: State, envelope: Envelope, payload: dict[str, Any]) -> State:
    """`final`: the gain of the whole run, measured once more at its stop."""
    found = Estimate.parse(payload["estimate"], envelope.id)
    return changed(state, final=found, final_of=payload["commit"], final_pairs=[])


def phase_changed(state: State, _: Envelope, payload: dict[str, Any]) -> State:
    """`phase_transition`: the goal's current phase moved on."""
    phase = payload["details"]["new_value"]
    return with_settings(changed(state, phase=phase), current_phase=phase)


def milestone(state: State, _: Envelope, payload: dict[str, Any]) -> State:
    """`milestone_reached`: a milestone's target holds for the first time."""
    name = payload["details"]["new_value"]
    reached = [*state.milestones, name]
    return with_settings(changed(state, milestones=reached), current_milestone=name)


def adopted(state: State, envelope: Envelope, payload: dict[str, Any]) -> State:
    """`adopted` or `restored`: the improvement branch was moved by its user, and what was done."""
    changes: dict[str, Any] = {"published": payload["published"]}
    if "incumbent" in payload:
        changes["incumbent"] = Incumbent.parse(payload["incumbent"], envelope.id)
        changes["final_pairs"] = []
        state = with_settings(state, best_score=payload["incumbent"]["score"])
    return changed(state, **changes)


RUN_EVENTS = {
    "run_begun": begun,
    "trusted": trusted,
    "baseline": baselined,
    "run_opened": opened,
    "waiting": waiting,
    "waited": waited,
    "stopped": stopped,
    "checkpoint": unchanged,
    "warning": unchanged,
    "outside_changed": outside_changed,
    "final": final,
    "config_change": config_changed,
    "phase_transition": phase_changed,
    "milestone_reached": milestone,
    "adopted": adopted,
    "restored": adopted,
    "retracted": adopted,
}
