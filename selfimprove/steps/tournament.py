"""Step 5: the best candidates, one after the other, are measured beside the incumbent.

The first that holds is merged; runners-up are then tried on top of it, each by pairs of its own.
The error of a whole round is shared out among all that is tried. Verify, then publish: until all
is decided the improvement branch has not moved.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from selfimprove.bench.stats import mean
from selfimprove.contracts.envelope import Draft, control
from selfimprove.contracts.merge import MergeReport, MergeWinner
from selfimprove.contracts.significance import Trial
from selfimprove.deps import Deps
from selfimprove.steps.base import Drafts, round_of, topic
from selfimprove.steps.clock import expected_seconds
from selfimprove.steps.confirming import (
    ask_holdout,
    close,
    confirmation_of,
    decide,
    estimate,
    most_pairs,
    refused,
    trial_of,
)
from selfimprove.steps.publishing import final_commit, publish
from selfimprove.store.state import Confirmation, Incumbent, State

Flow = Generator[Draft, State, State]


def run(state: State, deps: Deps) -> Drafts:
    """Try the candidates in order of rank, publish what holds, archive the rest, report."""
    order = ranked(state)
    for place, name in enumerate(order):
        if round_of(state).confirmation_of(name) is None:
            settings = deps.config.settings
            most = most_pairs(settings, expected_seconds(state), deps.deadline.given())
            trial = trial_of(state, settings, len(order) - place, most)
            if trial is None:
                break
            state = yield _begun(state, deps, name, trial)
        state = yield from _check_merge(state, deps, name)
        state = yield from _decide_and_close(state, deps, name)
    if round_of(state).tournament.report is None:
        state, held = yield from publish(state, deps)
        yield _report(state, deps, held)


def ranked(state: State) -> list[str]:
    """The executors measured as `success`, best first; ties in executor order.

    Experiments come after everybody else: a plan that split its panel takes nobody's turn.
    """
    assert state.facts is not None
    sign = -1 if state.facts.direction == "higher_is_better" else 1
    current = round_of(state)
    contested = current.experiments()
    scored = [
        (name in contested, sign * executor.result.benchmark_score, position, name)
        for position, (name, executor) in enumerate(current.executors.items())
        if executor.result
        and executor.result.status == "success"
        and executor.result.benchmark_score is not None
    ]
    return [name for *_, name in sorted(scored)]


def _begun(state: State, deps: Deps, name: str, trial: Trial) -> Draft:
    """Build the merge that will be measured: on the incumbent, or stacked on the round's win."""
    current = round_of(state)
    candidate = current.executors[name].candidate
    assert candidate is not None
    base = current.tip
    about = topic(state, "tournament", name)
    message = f"Round {current.number}, {name}: to be confirmed"
    # the commit that is measured; the one published differs by its message alone
    built = deps.workshop.merge(base, candidate.commit, message, current.started_at)
    return control(
        about,
        "confirming",
        executor=name,
        base=base,
        merge_commit=built or "",
        trial=trial.document(),
    )


def _check_merge(state: State, deps: Deps, name: str) -> Flow:
    """Settle a candidate that cannot be merged, or that a guard refuses once it is."""
    confirmation = confirmation_of(state, name)
    if confirmation.holds is not None or confirmation.pairs:
        return state
    about, built = topic(state, "tournament", name), confirmation.merge_commit
    if not built:
        return (yield refused(about, name, "it does not merge onto this round's win"))
    if bad := deps.workshop.unsound(confirmation.base, built):
        cheat = {"technique": "unsound_objects", "evidence": bad}
        return (yield refused(about, name, f"git refuses it: {bad}", {"disqualification": cheat}))
    red = deps.workshop.guards(built, f"round_{round_of(state).number}/{name}_merged")
    if red is not None:
        return (yield refused(about, name, f"once merged, {red.what}"))
    return state


def _decide_and_close(state: State, deps: Deps, name: str) -> Flow:
    """Settle one candidate; where it holds, ask what is held out and measure what is stored."""
    confirmation = confirmation_of(state, name)
    if confirmation.holds is None:
        state = yield from decide(state, deps, name)
        confirmation = confirmation_of(state, name)
    if not confirmation.holds or confirmation.commit:
        return state
    state = yield from ask_holdout(state, deps, name)
    confirmation = confirmation_of(state, name)
    if not confirmation.holds:
        return state
    state = yield from close(state, deps, name)
    confirmation = confirmation_of(state, name)
    return (yield _closed(state, deps, name)) if confirmation.holds else state


def _closed(state: State, deps: Deps, name: str) -> Draft:
    """The stored score and the commit to publish, whose message tells of it."""
    confirmation = confirmation_of(state, name)
    told = stored(state, confirmation)
    commit = final_commit(state, deps, confirmation.model_copy(update=told))
    told["estimate"] = told["estimate"] and told["estimate"].document()
    about = topic(state, "tournament", name)
    return control(about, "closed", executor=name, commit=commit, **told)


def stored(state: State, confirmation: Confirmation) -> dict[str, Any]:
    """The scores that are stored, and their estimate: of fresh pairs, where there are any; pure."""
    found = estimate(state, confirmation.closing)
    if found is None:
        before, after = confirmation.score_before, confirmation.score_after
    else:
        before, after = mean([pair.incumbent.score for pair in confirmation.closing]), found.score
    return {"score_before": before, "score_after": after, "estimate": found}


def _report(state: State, deps: Deps, held_back: bool) -> Draft:
    current, facts = round_of(state), state.facts
    assert facts is not None
    won = current.won
    tried = current.tournament.confirmations
    last = won[-1] if won else tried[-1] if tried else None
    report = MergeReport(
        iteration=current.number,
        goal_slug=facts.goal_slug,
        winner=_winner(state, deps, won[0]) if won else None,
        archived=deps.publisher.tags(state, {each.executor_id for each in won}),
        regressions_detected=any(each.regressions for each in tried),
        re_benchmark_score=last.score_after if last else None,
        **conclusion(state),
        evidence={**_evidence(tried, won), "candidate": facts.how_run} if tried else None,
        stacked=[_winner(state, deps, each) for each in won[1:]],
        held_back=held_back or None,
    )
    more: dict[str, Any] = {}
    if won and won[-1].score_after is not None:
        pairs = won[-1].closing or won[-1].pairs
        scores = pairs[-1].candidate.sub_scores if pairs else {}
        incumbent = Incumbent(commit=won[-1].commit, score=won[-1].score_after, sub_scores=scores)
        more["incumbent"] = incumbent.document()
    return control(topic(state, "tournament"), "merge_report", report=report.document(), **more)


def _evidence(tried: list[Confirmation], won: list[Confirmation]) -> dict[str, Any]:
    found: dict[str, Any] = {"confirmations": [each.document() for each in tried]}
    if won and won[-1].estimate:
        found["interval"] = [won[-1].estimate.score_low, won[-1].estimate.score_high]
    return found


def _winner(state: State, deps: Deps, won: Confirmation) -> MergeWinner:
    assert won.score_before is not None
    assert won.score_after is not None
    pairs = won.closing or won.pairs
    return MergeWinner(
        executor_id=won.executor_id,
        branch=deps.publisher.experiment(round_of(state).number, won.executor_id),
        hypothesis=round_of(state).plan_of(won.executor_id).hypothesis,
        score_before=won.score_before,
        score_after=won.score_after,
        sub_scores=pairs[-1].candidate.sub_scores if pairs else {},
    )


def conclusion(state: State) -> dict[str, Any]:
    """The report's status and reason."""
    current = round_of(state)
    if current.won:
        return {"status": "merged", "reason": None}
    if not current.executors:
        return {"status": "all_rejected", "reason": "no plan was approved"}
    if not ranked(state):
        return {"status": "no_winner", "reason": "no candidate was measured as a success"}
    told = "; ".join(f"{c.executor_id}: {c.reason}" for c in current.tournament.confirmations)
    return {"status": "no_improvement", "reason": f"no candidate held: {told}"}
