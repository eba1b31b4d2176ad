"""Step 5: the best candidates, one after the other, are measured beside the incumbent.

The first that holds is published; verify, then publish: until then the improvement branch has not
moved. Losers that were measured are kept under archive tags.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from selfimprove.bench.compare import candidate_first, holds, pairs_wanted
from selfimprove.bench.conditions import Broken, broken_constraints, broken_sub_scores
from selfimprove.bench.failures import Failed
from selfimprove.bench.measure import Measured
from selfimprove.bench.seeds import pair_seed, takes_seed
from selfimprove.contracts.benchmark import Pair
from selfimprove.contracts.envelope import Draft, control, tool_call, tool_result
from selfimprove.contracts.merge import MergeReport, MergeWinner
from selfimprove.deps import Deps
from selfimprove.steps.base import Drafts, round_of, topic
from selfimprove.steps.budget import ensure_minutes
from selfimprove.steps.execution import ensure_time, expected_seconds
from selfimprove.steps.publishing import publish
from selfimprove.store.state import Confirmation, Incumbent, State

Flow = Generator[Draft, State, State]


def run(state: State, deps: Deps) -> Drafts:
    """Confirm in order of rank until one holds, publish it, archive the rest, report."""
    for name in ranked(state):
        if _verdict(state, name) is None:
            state = yield from _confirm(state, deps, name)
        if _verdict(state, name):
            break
    if round_of(state).tournament.report is None:
        state, commit, held = yield from publish(state, deps)
        yield _report(state, deps, commit, held)


def ranked(state: State) -> list[str]:
    """The executors measured as `success`, best first; ties in executor order."""
    assert state.facts is not None
    sign = -1 if state.facts.direction == "higher_is_better" else 1
    scored = [
        (sign * executor.result.benchmark_score, position, name)
        for position, (name, executor) in enumerate(round_of(state).executors.items())
        if executor.result
        and executor.result.status == "success"
        and executor.result.benchmark_score is not None
    ]
    return [name for _, _, name in sorted(scored)]


def _confirmation(state: State, name: str) -> Confirmation | None:
    found = round_of(state).tournament.confirmations
    return next((each for each in found if each.executor_id == name), None)


def _verdict(state: State, name: str) -> bool | None:
    confirmation = _confirmation(state, name)
    return confirmation.holds if confirmation else None


def _confirm(state: State, deps: Deps, name: str) -> Flow:
    current = round_of(state)
    candidate = current.executors[name].candidate
    assert candidate is not None
    about = topic(state, "tournament", name)
    if _confirmation(state, name) is None:
        # the commit that is measured; the one published differs by the scores in its message alone
        built = deps.workshop.merge(
            current.incumbent.commit,
            candidate.commit,
            f"Round {current.number}, {name}: to be confirmed",
            current.started_at,
        )
        state = yield control(about, "confirming", executor=name, merge_commit=built)
    confirmation = _confirmation(state, name)
    assert confirmation is not None
    red = deps.workshop.guards(confirmation.merge_commit, f"round_{current.number}/{name}_merged")
    if red is not None:
        return (yield _settle(about, name, False, f"once merged, {red.what}", {}))
    return (yield from _pairs(state, deps, name, confirmation.merge_commit))


def _pairs(state: State, deps: Deps, name: str, merge_commit: str) -> Flow:
    facts = state.facts
    assert facts is not None
    about = topic(state, "tournament", name)
    while True:
        confirmation = _confirmation(state, name)
        assert confirmation is not None
        pairs = confirmation.pairs
        verdict = holds(pairs, facts.direction, facts.deterministic)
        if verdict.holds is not None:
            broken = _broken(state, deps, confirmation) if verdict.holds else []
            reason = "; ".join(each.reason for each in broken) or verdict.reason
            more = {
                "score_before": verdict.score_before,
                "score_after": verdict.score_after,
                "regressions": [each.name for each in broken],
            }
            return (yield _settle(about, name, verdict.holds and not broken, reason, more))
        wanted = pairs_wanted(facts.deterministic) - len(pairs)
        ensure_minutes(state, deps, about)
        ensure_time(deps, 2 * wanted * expected_seconds(state))
        call = tool_call(
            f"{about}/pair_{len(pairs) + 1}",
            "benchmark.pair",
            executor=name,
            commits=[round_of(state).incumbent.commit, merge_commit],
            seed=_seed(state, deps, name, len(pairs)),
            candidate_first=candidate_first(len(pairs)),
        )
        yield call
        found = _measure_pair(state, deps, call.payload["args"])
        if isinstance(found, Failed):
            yield tool_result(call, {"failed": found.analysis.document()})
            cheat = found.disqualification
            told = {"disqualification": cheat.document()} if cheat else {}
            return (yield _settle(about, name, False, found.analysis.what, told))
        spent = found.incumbent.duration_s + found.candidate.duration_s
        state = yield tool_result(call, {"pair": found.document()}, {"duration_s": round(spent, 3)})


def _broken(state: State, deps: Deps, confirmation: Confirmation) -> list[Broken]:
    """Constraints and declared sub-scores that a candidate does not keep, on its pairs."""
    settings = deps.config.settings
    candidate = round_of(state).executors[confirmation.executor_id].candidate
    assert candidate is not None
    samples = [pair.candidate for pair in confirmation.pairs]
    metric, files = deps.config.goal.metric.name, len(candidate.files)
    return [
        *broken_constraints(settings.constraints, samples, metric, files),
        *broken_sub_scores(settings.sub_scores, confirmation.pairs, settings.regression_threshold),
    ]


def _measure_pair(state: State, deps: Deps, args: dict[str, Any]) -> Pair | Failed:
    """Both sides under one hold of the slot, the order as given."""
    incumbent, candidate = args["commits"]
    number, name = round_of(state).number, args["executor"]
    sides = [("incumbent", incumbent), ("candidate", candidate)]
    if args["candidate_first"]:
        sides.reverse()
    samples = {}
    with deps.bench.slot.hold(f"a pair of round {number}"):
        for side, commit in sides:
            found = deps.bench.measure(commit, f"round_{number}/{name}_{side}.log", args["seed"])
            if not isinstance(found, Measured):
                return found
            samples[side] = found.sample
    return Pair(
        incumbent=samples["incumbent"],
        candidate=samples["candidate"],
        candidate_first=args["candidate_first"],
    )


def _seed(state: State, deps: Deps, name: str, index: int) -> int | None:
    settings = deps.config.settings
    if not takes_seed(settings.benchmark_command, settings.seed_env):
        return None
    assert state.facts is not None
    position = list(round_of(state).executors).index(name)
    return pair_seed(
        state.facts.seed_key, round_of(state).number, 100 * position + index, "confirmation"
    )


def _settle(about: str, name: str, held: bool, reason: str, more: dict[str, Any]) -> Draft:
    return control(about, "confirmation", executor=name, holds=held, reason=reason, **more)


def _report(state: State, deps: Deps, commit: str, held_back: bool) -> Draft:
    current, facts = round_of(state), state.facts
    assert facts is not None
    won = next((each for each in current.tournament.confirmations if each.holds), None)
    last = current.tournament.confirmations[-1] if current.tournament.confirmations else None
    report = MergeReport(
        iteration=current.number,
        goal_slug=facts.goal_slug,
        winner=_winner(state, deps, won) if won else None,
        archived=deps.publisher.tags(state, won.executor_id if won else ""),
        regressions_detected=any(each.regressions for each in current.tournament.confirmations),
        re_benchmark_score=(won or last).score_after if (won or last) else None,  # type: ignore[union-attr]
        **_outcome(state),
        evidence={"confirmations": [each.document() for each in current.tournament.confirmations]}
        if current.tournament.confirmations
        else None,
        held_back=held_back or None,
    )
    more: dict[str, Any] = {}
    if won and won.score_after is not None:
        scores = won.pairs[-1].candidate.sub_scores if won.pairs else {}
        incumbent = Incumbent(commit=commit, score=won.score_after, sub_scores=scores)
        more["incumbent"] = incumbent.document()
    return control(topic(state, "tournament"), "merge_report", report=report.document(), **more)


def _winner(state: State, deps: Deps, won: Confirmation) -> MergeWinner:
    assert won.score_before is not None
    assert won.score_after is not None
    return MergeWinner(
        executor_id=won.executor_id,
        branch=deps.publisher.experiment(round_of(state).number, won.executor_id),
        hypothesis=round_of(state).plan_of(won.executor_id).hypothesis,
        score_before=won.score_before,
        score_after=won.score_after,
        sub_scores=won.pairs[-1].candidate.sub_scores if won.pairs else {},
    )


def _outcome(state: State) -> dict[str, Any]:
    """The report's status and reason."""
    current = round_of(state)
    if any(each.holds for each in current.tournament.confirmations):
        return {"status": "merged", "reason": None}
    if not current.executors:
        return {"status": "all_rejected", "reason": "no plan was approved"}
    if not ranked(state):
        return {"status": "no_winner", "reason": "no candidate was measured as a success"}
    told = "; ".join(f"{c.executor_id}: {c.reason}" for c in current.tournament.confirmations)
    return {"status": "no_improvement", "reason": f"no candidate held: {told}"}
