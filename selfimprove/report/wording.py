"""One line for each notable event of a run: the plain progress lines, and the view's verdicts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from selfimprove.contracts.benchmark import Disqualification
from selfimprove.contracts.envelope import Envelope
from selfimprove.contracts.significance import Estimate
from selfimprove.report import numbers, verdicts
from selfimprove.report.gains import QUALIFYING
from selfimprove.report.plain import clean, one_line
from selfimprove.store.state import State

Tone = Literal["plain", "good", "bad", "faint"]
Payload = dict[str, Any]


@dataclass(frozen=True)
class Line:
    """What happened, in words, and whether it is good news."""

    text: str
    tone: Tone = "plain"


STATUS_WORDS = {
    "idle": "nothing has run yet",
    "running": "running",
    "waiting": "waiting for an agent that cannot be reached",
    "user_stopped": "stopped by a person",
    "target_reached": "the target is reached",
    "plateau": "stopped: the last wins were too small to go on",
    "patience": "stopped: no win for too many rounds",
    "max_iterations": "stopped: the number of rounds is used up",
    "circuit_breaker": "stopped: nothing could be measured, several rounds running",
    "budget": "stopped: the budget is used up",
    "time": "stopped: the time is up",
    "failed": "failed",
}
STEP_WORDS = {
    "research": "looking for what could help",
    "planning": "planners turn ideas into plans",
    "critic_review": "plans are reviewed",
    "execution": "executors carry plans out, and are measured",
    "tournament": "the best is measured again beside the incumbent",
    "recording": "what was learnt is recorded",
    "stop_check": "whether to go on",
}


def line_of(envelope: Envelope, state: State) -> Line | None:
    """The line for an envelope just folded into `state`; None where nobody needs to know."""
    payload = envelope.payload
    if envelope.type == "control":
        words = _CONTROL.get(str(payload.get("event")))
    elif envelope.type == "plan_step":
        words = _INTENT.get(str(payload.get("intent")))
    elif envelope.type == "tool_result":
        words = _TOOL.get(str(payload.get("tool")))
    else:
        words = None
    line = words(state, payload) if words else None
    return Line(one_line(clean(line.text), 300), line.tone) if line else None


def _begun(state: State, _: Payload) -> Line:
    goal = state.facts.objective.strip().partition("\n")[0] if state.facts else ""
    return Line(f"goal: {goal}")


def _baseline(state: State, payload: Payload) -> Line:
    metric = state.facts.metric if state.facts else "score"
    what = "baseline" if "baseline" in payload else "the incumbent, measured anew"
    return Line(f"{what}: {metric} {numbers.score(payload['incumbent']['score'])}")


def _round(state: State, payload: Payload) -> Line:
    best = state.incumbent.score if state.incumbent else None
    return Line(f"round {payload['round']} begins from {numbers.score(best)}")


def _brief(_: State, payload: Payload) -> Line:
    found = numbers.count(len(payload["brief"]["ideas"]), "idea")
    return Line(f"research: {found}", "faint")


def _plan(_: State, payload: Payload) -> Line:
    plan = payload["plan"]
    return Line(f"{plan['planner_id']} ({plan['approach_family']}): {plan['hypothesis']}", "faint")


def _no_plan(_: State, payload: Payload) -> Line:
    return Line(f"{payload['planner']} left out: {payload['error']}", "bad")


def _gate(state: State, payload: Payload) -> Line:
    who, why = payload.get("planner", ""), payload.get("reason", "")
    if "executor" in payload:
        return _gate_of_change(payload["executor"], payload["decision"], why)
    if payload["decision"] == "retry":
        return Line(f"{who} revises its plan: {why}", "faint")
    if payload["decision"] == "branch":
        return Line(f"{who} goes on as an experiment: {why}", "faint")
    plan = state.round.planners[who].plan if state.round else None
    if plan and plan.critic_approved:
        return Line(f"{who} approved", "faint")
    review = plan.critic_review if plan else None
    return Line(f"{who} rejected: {(review and review.rejection_reason) or why}", "bad")


def _gate_of_change(who: str, decision: str, why: str) -> Line:
    if decision == "retry":
        return Line(f"{who} revises its change: {why}", "faint")
    if decision == "commit":
        return Line(f"{who}'s change is approved", "faint")
    return Line(f"{who}'s change is refused: {why}", "bad")


def _again(_: State, payload: Payload) -> Line:
    return Line(f"planning once more: {payload['refinement']['reason']}")


def _quality(_: State, payload: Payload) -> Line | None:
    why = payload["report"].get("not_retried")
    return Line(f"planning is not tried once more: {why}", "bad") if why else None


def _executed(_: State, payload: Payload) -> Line:
    candidate = payload["candidate"]
    files = numbers.count(len(candidate["files"]), "file")
    return Line(f"{payload['executor']} changed {files}", "faint")


def _result(state: State, payload: Payload) -> Line:
    result = payload["result"]
    who, status = result["executor_id"], result["status"]
    if cheat := result.get("disqualification"):
        told = verdicts.told(Disqualification.parse(cheat, "disqualification"))
        return Line(f"{who} {told}", "bad")
    if result["benchmark_score"] is None:
        failure = result.get("failure_analysis") or {}
        return Line(f"{who} {status}: {failure.get('what', 'nothing measured')}", "bad")
    words = ""
    if state.facts and state.round:
        before = state.round.incumbent.score
        gain = numbers.gain_in_words(before, result["benchmark_score"], state.facts.direction)
        mark = "" if state.facts.deterministic else f", {QUALIFYING}"
        words = f" ({gain}{mark})"
    return Line(f"{who} measured {numbers.score(result['benchmark_score'])}{words}")


def _confirming(state: State, payload: Payload) -> Line:
    stacked = state.round and payload["base"] != state.round.incumbent.commit
    where = "on top of this round's win, beside that" if stacked else "beside the incumbent"
    return Line(f"{payload['executor']} is measured again {where}", "faint")


def _confirmation(state: State, payload: Payload) -> Line:
    confirmations = state.round.tournament.confirmations if state.round else []
    who = confirmations[-1].executor_id if confirmations else "the candidate"
    if cheat := payload.get("disqualification"):
        told = verdicts.told(Disqualification.parse(cheat, "disqualification"))
        return Line(f"{who} {told}", "bad")
    if not payload["holds"]:
        return Line(f"{who} does not hold: {payload['reason']}", "bad")
    return Line(f"{who} holds: {payload['reason']}", "good")


def _not_exact(_: State, payload: Payload) -> Line:
    who = payload["executor"]
    return Line(f"{who}: the benchmark does not repeat after all, measured in pairs from here on")


def _holdout(_: State, payload: Payload) -> Line:
    answer = "agrees" if payload["answer"] else f"does not agree: {payload['reason']}"
    tone: Tone = "good" if payload["answer"] else "bad"
    return Line(f"{payload['executor']}: the held-out benchmark {answer}", tone)


def _closed(_: State, payload: Payload) -> Line | None:
    if payload.get("estimate") is None:
        return None
    found = Estimate.parse(payload["estimate"], "estimate")
    pairs = numbers.count(found.pairs, "fresh pair")
    return Line(f"{payload['executor']}: a gain of {numbers.estimated(found)} in {pairs}", "good")


def _final(_: State, payload: Payload) -> Line:
    found = Estimate.parse(payload["estimate"], "estimate")
    pairs = numbers.count(found.pairs, "fresh pair")
    return Line(f"the run's gain, base against tip: {numbers.estimated(found)} in {pairs}", "good")


def _merged(state: State, payload: Payload) -> Line:
    report = payload["report"]
    winner = report["winner"]
    if winner is None:
        return Line(f"round {report['iteration']}: {report['reason']}")
    before, after = winner["score_before"], report["re_benchmark_score"]
    direction = state.facts.direction if state.facts else "higher_is_better"
    gain = numbers.gain_in_words(before, after, direction)
    won = state.round.won if state.round else []
    fresh = [each.estimate for each in won if each.estimate]
    if fresh and not report.get("stacked"):
        gain = numbers.estimated_in_words(fresh[0])
    held = ", held back until the branch is free" if report.get("held_back") else ""
    names = [winner["executor_id"], *(each["executor_id"] for each in report.get("stacked", []))]
    return Line(
        f"round {report['iteration']} merged {', '.join(names)}: {numbers.score(before)} → "
        f"{numbers.score(after)}, {gain}{held}: {winner['hypothesis']}",
        "good",
    )


def _waiting(_: State, payload: Payload) -> Line:
    until = f" until {payload['until']}" if payload.get("until") else ""
    return Line(f"waiting{until}: {payload.get('reason', '')}", "bad")


def _waited(_: State, payload: Payload) -> Line:
    return Line(f"asked again after {payload['seconds']:.0f} s")


def _stopped(_: State, payload: Payload) -> Line:
    words = STATUS_WORDS.get(status := str(payload["status"]), status)
    return Line(f"{words}: {payload['reason']}" if payload.get("reason") else words)


def _warning(_: State, payload: Payload) -> Line:
    return Line(f"warning: {payload.get('message', '')}", "bad")


def _outside(_: State, payload: Payload) -> Line:
    changed = ", ".join(map(str, payload["changed"]))
    return Line(f"changed in your repository, and not by this run: {changed}", "bad")


def _ideas(_: State, payload: Payload) -> Line:
    return Line(f"took up {numbers.count(len(payload['ideas']), 'idea')} of yours")


def _detail(words: str) -> Callable[[State, Payload], Line]:
    def line(_: State, payload: Payload) -> Line:
        details = payload.get("details", {})
        told = details.get("new_value") or details.get("reason") or ""
        return Line(f"{words}{f': {told}' if told else ''}")

    return line


def _asked(_: State, payload: Payload) -> Line | None:
    result = payload["result"]
    if result.get("ok", True):
        return None
    return Line(f"{result.get('agent', 'an agent')} failed: {result.get('error', '')}", "bad")


def _ran(state: State, payload: Payload) -> Line | None:
    """Baseline runs are told; a candidate's samples end in its result."""
    sample = payload["result"].get("sample")
    if sample is None or payload["result"].get("executor") or state.round:
        return None
    return Line(f"baseline run {len(state.samples)}: {numbers.score(sample['score'])}", "faint")


def _canary(_: State, payload: Payload) -> Line:
    """A change whose verdict is known."""
    found = payload["result"]["canary"]
    tone: Tone = "faint" if found["grade"] == "ok" else "bad"
    return Line(f"{found['name']}: {found['text']}", tone)


_CONTROL: dict[str, Callable[[State, Payload], Line | None]] = {
    "run_begun": _begun,
    "baseline": _baseline,
    "round_started": _round,
    "ideas_consumed": _ideas,
    "planner_failed": _no_plan,
    "gate": _gate,
    "planning_again": _again,
    "quality": _quality,
    "result": _result,
    "confirming": _confirming,
    "not_exact": _not_exact,
    "confirmation": _confirmation,
    "holdout": _holdout,
    "closed": _closed,
    "final": _final,
    "merge_report": _merged,
    "waiting": _waiting,
    "waited": _waited,
    "stopped": _stopped,
    "warning": _warning,
    "outside_changed": _outside,
    "phase_transition": _detail("phase"),
    "milestone_reached": _detail("milestone reached"),
    "retracted": _detail("a win was retracted"),
    "adopted": _detail("the moved branch was adopted"),
    "restored": _detail("the improvement branch was restored"),
}
_INTENT: dict[str, Callable[[State, Payload], Line | None]] = {
    "research": _brief,
    "plan": _plan,
    "execute": _executed,
}
_TOOL: dict[str, Callable[[State, Payload], Line | None]] = {
    "agent.ask": _asked,
    "benchmark.run": _ran,
    "benchmark.canary": _canary,
}
