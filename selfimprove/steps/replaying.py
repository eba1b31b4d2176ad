"""Deriving the decisions of a round again from its record alone, and comparing; pure.

What needs more than the record (the tree, harness.md, goal.md, the clock, an agent's reply) is
taken from the record as it stands, and only what follows from it is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from selfimprove.bench.compare import MOST_PAIRS, judge
from selfimprove.contracts.base import FAMILIES
from selfimprove.contracts.benchmark import BenchmarkResult
from selfimprove.contracts.envelope import VERIFIER, Envelope
from selfimprove.contracts.plan import Plan
from selfimprove.contracts.settings import Settings
from selfimprove.contracts.significance import holdout_bar
from selfimprove.deps import LETTERS, Deadline
from selfimprove.review import rules
from selfimprove.review.context import ReviewContext, TreeView
from selfimprove.review.critique import failures, reviewed
from selfimprove.review.families import assign
from selfimprove.steps import recording
from selfimprove.steps.base import round_of
from selfimprove.steps.change_review import back_to, change_decision
from selfimprove.steps.confirming import estimate, repeats, ruling, trial_of
from selfimprove.steps.critic_review import decision, sent_back, stock, verification
from selfimprove.steps.reviewing import losers, narrowed, recent_winners, recorded_facts
from selfimprove.steps.screening import result_of
from selfimprove.steps.stop_check import why_stop
from selfimprove.steps.tournament import conclusion, ranked, stored
from selfimprove.store.attempts import Row
from selfimprove.store.state import State

FROM_THE_RECORD = (
    rules.h001_one_hypothesis,
    rules.h002_family_streak,
    rules.h003_diversity,
    rules.schema,
    rules.history,
)
"""The rules that need neither the tree nor the goal."""
NOT_OF_THE_RECORD = frozenset({"time", "failed", "user_stopped"})
"""Decisions that the clock, a person or a moved branch made."""

ADDED = frozenset({"confidence", "estimated_impact"})
"""What rows of attempts did not hold from the first."""


@dataclass(frozen=True)
class Known:
    """What stands in the record beside the state before a decision."""

    attempts: Sequence[Row] = ()
    """The attempts of the rounds before."""


Payload = dict[str, Any]
Check = Callable[[State, Payload, Known], Iterator[str]]


def differences(state: State, envelope: Envelope, known: Known) -> Iterator[str]:
    """What the state before an envelope leads to, against what the envelope says was decided."""
    if state.round is None or state.facts is None:
        return
    payload = envelope.payload
    if envelope.type == "critique" and "verdicts" in payload:
        found = _ruling(state, payload, known)
    elif payload.get("critic") == VERIFIER and "planner" in payload:
        found = _verified(state, payload)
    elif envelope.type == "control" and payload.get("event") in CHECKS:
        found = CHECKS[payload["event"]](state, payload, known)
    else:
        return
    for line in found:
        yield f"{envelope.id}: {line}"


def _differs(what: str, recorded: Any, derived: Any) -> Iterator[str]:
    """Name the innermost values that differ."""
    if isinstance(recorded, dict) and isinstance(derived, dict):
        for key in sorted({*recorded, *derived}):
            yield from _differs(f"{what}.{key}", recorded.get(key), derived.get(key))
    elif isinstance(recorded, list) and isinstance(derived, list) and len(recorded) == len(derived):
        for number, pair in enumerate(zip(recorded, derived, strict=True), 1):
            yield from _differs(f"{what}[{number}]", *pair)
    elif recorded != derived:
        yield f"{what}: {_short(recorded)} is recorded, {_short(derived)} follows from the record"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:97]}..."


def _settings(state: State) -> Settings:
    return Settings.parse(state.config, "settings of the run")


def _families(state: State, payload: Payload, known: Known) -> Iterator[str]:
    """Own families of harness.md and documentation are known by their being dealt out at all."""
    recorded = {name: given["families"] for name, given in payload["planners"].items()}
    planners, settings = round_of(state).planners, _settings(state)
    owing = [name for name, planner in planners.items() if planner.status == "pending"]
    if not planners:
        owing = [f"planner_{LETTERS[k]}" for k in range(settings.number_of_agents)]
    hands = [recorded.get(name, []) for name in owing]
    shift = (round_of(state).number - 1) % max(1, len(hands))
    order = [*hands[shift:], *hands[:shift]]
    turns = range(max((len(hand) for hand in order), default=0))
    dealt = [hand[turn] for turn in turns for hand in order if turn < len(hand)]
    own = dict.fromkeys(family for family in dealt if family not in FAMILIES)
    files = [f for given in payload["planners"].values() for f in given.get("files", [])]
    facts = replace(
        recorded_facts(state, known.attempts, settings),
        taxonomy=(*FAMILIES, *own),
        documentation="documentation" in dealt,
        files=tuple(dict.fromkeys(files)),
    )
    derived = {name: list(given.families) for name, given in assign(owing, facts).items()}
    yield from _differs("families", recorded, derived)


def _ruling(state: State, payload: Payload, known: Known) -> Iterator[str]:
    planner = round_of(state).planners[payload["planner"]]
    plan, said = planner.plan, payload["verdicts"]
    if plan is None:
        yield f"{payload['planner']} was judged without a plan"
        return
    context = _context(state, plan, said, known)
    recorded = {each["rule"]: (each["passed"], each["code"]) for each in said}
    for rule in FROM_THE_RECORD:
        verdict = rule(plan, context)
        yield from _differs(
            f"{plan.plan_id}: {verdict.rule}",
            recorded.get(verdict.rule),
            (verdict.passed, verdict.code),
        )
    failed = [each for each in said if not each["passed"]]
    told = {"verdict": "fail" if failed else "pass", "score": 0.0 if failed else 1.0}
    yield from _differs(plan.plan_id, {name: payload[name] for name in told}, told)


def _verified(state: State, payload: Payload) -> Iterator[str]:
    derived = verification(state, payload["planner"], _settings(state)).document()
    yield from _differs(
        f"{payload['planner']}: verify", {name: payload[name] for name in derived}, derived
    )


def _context(state: State, plan: Plan, said: list[Payload], known: Known) -> ReviewContext:
    current = round_of(state)
    before = [
        each.plan
        for each in current.planners.values()
        if each.plan and not each.reviewed and each.verdicts and not failures(each.verdicts)
    ]
    own = [family for each in current.planners.values() for family in each.families]
    if not any(each["code"] == "unknown_family" for each in said):
        own.append(plan.approach_family)  # harness.md has it: the record cannot tell otherwise
    return ReviewContext(
        tree=TreeView(existing=frozenset(), in_scope=lambda _: True),
        taxonomy=tuple(dict.fromkeys((*FAMILIES, *own))),
        recent_winners=recent_winners(state),
        streak_limit=_settings(state).family_streak_limit,
        earlier=(*current.approved().values(), *before),
        narrowed=narrowed(state),
        losers=losers(known.attempts),
    )


def _gate(state: State, payload: Payload, _: Known) -> Iterator[str]:
    if "executor" in payload:
        yield from _gate_of_change(state, payload)
        return
    planner = round_of(state).planners[payload["planner"]]
    recorded = Plan.parse(payload["plan"], "plan")
    if planner.plan is None:
        yield f"{payload['planner']}: a decision on no plan"
        return
    verdicts, found = decision(round_of(state), payload["planner"], _settings(state))
    what, gate = planner.plan.plan_id, found.document()
    yield from _differs(what, {name: payload.get(name) for name in gate}, gate)
    derived = reviewed(planner.plan, verdicts, recorded.architect_review)
    yield from _differs(what, recorded.document(), derived.document())


def _gate_of_change(state: State, payload: Payload) -> Iterator[str]:
    name = payload["executor"]
    executor = round_of(state).executors[name]
    if executor.candidate is None:
        yield f"{name}: a decision on no change"
        return
    derived = change_decision(executor, _settings(state)).document()
    if derived["decision"] == "retry":
        derived |= back_to(executor)
    yield from _differs(name, {key: payload.get(key) for key in derived}, derived)


def _quality(state: State, payload: Payload, _: Known) -> Iterator[str]:
    recorded = payload["report"]
    refinement = recorded.get("suggested_refinement") or {}
    files, levels = refinement.get("files_in_scope", []), not refinement or "level" in refinement
    derived = stock(state, _settings(state), files, levels=levels)
    yield from _differs("quality", recorded, derived.document())


def _again(state: State, payload: Payload, _: Known) -> Iterator[str]:
    current = round_of(state)
    derived = sent_back(current, _settings(state)) if current.quality else None
    yield from _differs("planning_again", payload["refinement"], derived and derived.document())


def _executors(state: State, payload: Payload, _: Known) -> Iterator[str]:
    derived = {name: plan.plan_id for name, plan in round_of(state).approved().items()}
    yield from _differs("executors", payload["executors"], derived)


def _result(state: State, payload: Payload, _: Known) -> Iterator[str]:
    result = BenchmarkResult.parse(payload["result"], "result")
    executor = round_of(state).executors[result.executor_id]
    what, told = result.executor_id, result.failure_analysis
    yield from _differs(f"{what}: plan_id", result.plan_id, executor.plan_id)
    if not executor.samples:
        yield from _differs(f"{what}: benchmark_score", result.benchmark_score, None)
        late = told is not None and told.category == "timeout"
        yield from _differs(f"{what}: status", result.status, "timeout" if late else "error")
        return
    if result.benchmark_score is None and result.status != "success":
        return  # one of several runs gave no score: why stands beside it
    derived = result_of(state, result.executor_id)
    # what older versions recorded has no assertions
    more = ("assertions",) if result.assertions else ()
    for name in ("benchmark_score", "sub_scores", "status", *more):
        yield from _differs(f"{what}: {name}", getattr(result, name), getattr(derived, name))


def _confirming(state: State, payload: Payload, _: Known) -> Iterator[str]:
    order = ranked(state)
    tried = [each.executor_id for each in round_of(state).tournament.confirmations]
    following = next((name for name in order if name not in tried), None)
    yield from _differs("confirming", payload["executor"], following)
    yield from _differs("confirming: base", payload["base"], round_of(state).tip)
    settings = _settings(state)
    # where it is not set it follows from the time there was, which is not of the record
    most = settings.significance.max_pairs or min(payload["trial"]["max_pairs"], MOST_PAIRS)
    trial = trial_of(state, settings, len(order) - len(tried), most)
    yield from _differs("trial", payload["trial"], trial and trial.document())


def _not_exact(state: State, payload: Payload, _: Known) -> Iterator[str]:
    last = round_of(state).tournament.confirmations[-1]
    yield from _differs(f"{payload['executor']}: repeats", False, repeats(state, last))


def _confirmation(state: State, payload: Payload, _: Known) -> Iterator[str]:
    """Whether the pairs lead to what was decided; this alone knows how pairs are judged."""
    last = round_of(state).tournament.confirmations[-1]
    verdict = judge(last.pairs, last.trial)
    what = f"{last.executor_id}: confirmation"
    if verdict.outcome == "more" or last.holds:
        # a guard, or a measurement that gave no score, ended it
        yield from _differs(f"{what}.holds", payload["holds"], False)
        return
    derived = ruling(state, _settings(state), last, verdict)
    yield from _differs(what, {name: payload.get(name) for name in derived}, derived)


def _holdout(state: State, payload: Payload, _: Known) -> Iterator[str]:
    """The answer, by the gain that the held-out benchmark gave."""
    last = round_of(state).tournament.confirmations[-1]
    answer = payload.get("gain", 0.0) > holdout_bar(state.holdout_refused)
    yield from _differs(f"{last.executor_id}: holdout", payload["answer"], answer)


def _closed(state: State, payload: Payload, _: Known) -> Iterator[str]:
    """What is stored, by the closing pairs."""
    last = round_of(state).tournament.confirmations[-1]
    derived = stored(state, last)
    derived["estimate"] = derived["estimate"] and derived["estimate"].document()
    recorded = {name: payload.get(name) for name in derived}
    yield from _differs(f"{last.executor_id}: closed", recorded, derived)


def _final(state: State, payload: Payload, _: Known) -> Iterator[str]:
    """The run's gain, by the pairs of the first base and the tip."""
    derived = estimate(state, state.final_pairs)
    yield from _differs("final", payload["estimate"], derived and derived.document())


def _merged(state: State, payload: Payload, _: Known) -> Iterator[str]:
    report, current = payload["report"], round_of(state)
    tried, merged = current.tournament.confirmations, current.won
    last = (merged or tried)[-1] if tried else None
    derived: Payload = {
        "iteration": current.number,
        **conclusion(state),
        "re_benchmark_score": last.score_after if last else None,
    }
    yield from _differs("merge_report", {name: report[name] for name in derived}, derived)
    evidence = (report.get("evidence") or {}).get("confirmations", [])
    yield from _differs("confirmations", evidence, [each.document() for each in tried])
    told = [each for each in (report["winner"], *report.get("stacked", [])) if each]
    yield from _differs("merge_report: merges", len(told), len(merged))
    yield from _differs("merge_report: an incumbent", "incumbent" in payload, bool(merged))
    if not merged or len(told) != len(merged) or "incumbent" not in payload:
        return
    for number, (each, won) in enumerate(zip(told, merged, strict=True)):
        winner = {
            "executor_id": won.executor_id,
            "hypothesis": current.plan_of(won.executor_id).hypothesis,
            "score_before": won.score_before,
            "score_after": won.score_after,
        }
        what = f"stacked[{number}]" if number else "winner"
        yield from _differs(what, {name: each[name] for name in winner}, winner)
    incumbent = {"commit": merged[-1].commit, "score": merged[-1].score_after}
    recorded = {name: payload["incumbent"][name] for name in incumbent}
    yield from _differs("incumbent", recorded, incumbent)


def _recorded(state: State, payload: Payload, _: Known) -> Iterator[str]:
    parent = next((row["parent"] for row in payload["attempts"]), "")
    derived = recording.recorded(state, _settings(state), parent).payload
    if _first(payload["attempts"]) == payload["attempts"]:  # of before the others were kept
        derived = {**derived, "attempts": _first(derived["attempts"])}
    yield from _differs("recorded", {**payload, "step_id": derived["step_id"]}, derived)


def _first(rows: Sequence[Row]) -> list[Row]:
    """Rows of attempts with what they held from the first."""
    return [{name: row[name] for name in row if name not in ADDED} for row in rows]


def _decided(state: State, payload: Payload, _: Known) -> Iterator[str]:
    """The rules that end a run, the clock's aside."""
    settings = _settings(state)
    limit = settings.budget.run.model_copy(update={"minutes": None})
    budget = settings.budget.model_copy(update={"run": limit})
    stop = why_stop(state, settings.model_copy(update={"budget": budget}), Deadline())
    if payload["decision"] in NOT_OF_THE_RECORD:
        return
    if payload["decision"] == "budget" and settings.budget.run.minutes is not None:
        return
    recorded = (payload["decision"], payload.get("reason", ""))
    yield from _differs("decided", recorded, stop or ("go_on", ""))


CHECKS: dict[str, Check] = {
    "families_assigned": _families,
    "gate": _gate,
    "quality": _quality,
    "planning_again": _again,
    "executors_named": _executors,
    "result": _result,
    "confirming": _confirming,
    "not_exact": _not_exact,
    "confirmation": _confirmation,
    "holdout": _holdout,
    "closed": _closed,
    "final": _final,
    "merge_report": _merged,
    "recorded": _recorded,
    "decided": _decided,
}
