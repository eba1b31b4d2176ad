"""One candidate beside the incumbent: pairs until the question is settled, then fresh ones.

What decides and what is reported are measured apart: the pairs that won flatter the gain.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

from selfimprove.bench.compare import candidate_first, judge, next_stake
from selfimprove.bench.conditions import Broken, broken_constraints, broken_sub_scores
from selfimprove.bench.estimate import closing, pairs_in
from selfimprove.bench.failures import Failed
from selfimprove.bench.measure import Bench, Measured, bound
from selfimprove.bench.seeds import Purpose, seed_for
from selfimprove.bench.stats import median, relative_gain
from selfimprove.contracts.benchmark import Pair
from selfimprove.contracts.envelope import Draft, control, tool_call, tool_result
from selfimprove.contracts.settings import Settings
from selfimprove.contracts.significance import (
    HOLDOUT_QUESTIONS,
    Estimate,
    Judgement,
    Stake,
    Trial,
    holdout_bar,
)
from selfimprove.deps import Deps
from selfimprove.steps.base import round_of, topic
from selfimprove.steps.budget import ensure_minutes
from selfimprove.steps.clock import ensure_time, expected_seconds
from selfimprove.store.state import Confirmation, State

Flow = Generator[Draft, State, State]

HOLDOUT_PAIRS = 3
NOT_EXACT = "the benchmark does not repeat after all; the next round measures in pairs"


@dataclass(frozen=True)
class Sides:
    """Two commits that are measured in pairs."""

    incumbent: str
    candidate: str
    name: str
    """Tells the pairs of one confirmation from those of another."""
    purpose: Purpose
    executor: str = ""


def confirmation_of(state: State, name: str) -> Confirmation:
    """The confirmation of one executor's candidate, which has begun."""
    found = round_of(state).confirmation_of(name)
    assert found is not None
    return found


def time_there_is(settings: Settings, given: float | None) -> float | None:
    """Seconds a run may take: until its end, or by its budget; None where neither is set."""
    minutes = settings.budget.run.minutes
    limits = [limit for limit in (given, minutes and 60 * minutes) if limit is not None]
    return min(limits, default=None)


def most_pairs(settings: Settings, run_seconds: float, given: float | None) -> int:
    """`max_pairs` as set, else what the time there is lets a confirmation have."""
    significance = settings.significance
    time = time_there_is(settings, given)
    return significance.max_pairs or pairs_in(time, run_seconds, significance.alpha)


def trial_of(state: State, settings: Settings, left: int, most: int) -> Trial | None:
    """What the next confirmation is to decide in `most` pairs, `left` candidates remaining with it.

    None where no error is left that a win could be proven with. It is fixed before the first pair.
    """
    facts, significance = state.facts, settings.significance
    assert facts is not None
    spent = [
        Stake(stake=each.trial.stake, merged=bool(each.commit))
        for each in round_of(state).tournament.confirmations
    ]
    stake = next_stake(significance.alpha, spent, left, most)
    if facts.deterministic:
        stake = significance.alpha  # nothing is left to chance
    if stake <= 0:
        return None
    return Trial(
        direction=facts.direction,
        stake=stake,
        max_pairs=most,
        min_effect=significance.min_effect,
        deterministic=facts.deterministic,
    )


def decide(state: State, deps: Deps, name: str) -> Flow:
    """Measure pairs until the candidate under way holds, or does not."""
    about = topic(state, "tournament", name)
    while True:
        confirmation = confirmation_of(state, name)
        verdict = judge(confirmation.pairs, confirmation.trial)
        if verdict.outcome == "win" and not repeats(state, confirmation):
            state = yield control(about, "not_exact", executor=name)
            if len(round_of(state).tournament.confirmations) > 1:
                return (yield refused(about, name, NOT_EXACT))
            continue
        if verdict.outcome != "more":
            told = ruling(state, deps.config.settings, confirmation, verdict)
            return (yield control(about, "confirmation", executor=name, **told))
        ensure_minutes(state, deps, about)
        ensure_time(state, deps, 2 * expected_seconds(state))
        sides = Sides(confirmation.base, confirmation.merge_commit, name, "confirmation", name)
        found, state = yield from measure_pair(state, deps, sides, len(confirmation.pairs))
        if isinstance(found, Failed):
            return (yield _failed(about, name, found))


def repeats(state: State, confirmation: Confirmation) -> bool:
    """Whether a win of one pair shows the scores that its commits had before; pure.

    The baseline's runs may have agreed by chance, most of all where a score has few digits: then
    one pair proves nothing.
    """
    current = round_of(state)
    if not confirmation.trial.deterministic or confirmation.base != current.incumbent.commit:
        return True
    ranked_on = current.executors[confirmation.executor_id].result
    before = (current.incumbent.score, ranked_on and ranked_on.benchmark_score)
    seen = ((pair.incumbent.score, pair.candidate.score) for pair in confirmation.pairs)
    return all(scores == before for scores in seen)


def _failed(about: str, name: str, found: Failed) -> Draft:
    """A pair that could not be measured: the candidate does not hold, whatever came before."""
    cheat = found.disqualification
    told = {"disqualification": cheat.document()} if cheat else {}
    return refused(about, name, found.analysis.what, told)


def refused(about: str, name: str, reason: str, more: dict[str, Any] | None = None) -> Draft:
    """The envelope that ends a confirmation for another reason than its pairs."""
    return control(about, "confirmation", executor=name, holds=False, reason=reason, **(more or {}))


def ruling(
    state: State, settings: Settings, confirmation: Confirmation, verdict: Judgement
) -> dict[str, Any]:
    """What the verdict of the pairs comes to, less what conditions refuse; pure."""
    held, reason = verdict.outcome == "win", verdict.reason
    broken = _broken(state, settings, confirmation) if held else []
    if broken:
        held, reason = False, "; ".join(each.reason for each in broken)
    return {
        "holds": held,
        "reason": reason,
        "judgement": verdict.document(),
        "regressions": [each.name for each in broken],
        "score_before": verdict.score_before,
        "score_after": verdict.score_after,
    }


def _broken(state: State, settings: Settings, confirmation: Confirmation) -> list[Broken]:
    """Constraints and declared sub-scores that the candidate does not keep, on its pairs."""
    assert state.facts is not None
    candidate = round_of(state).executors[confirmation.executor_id].candidate
    assert candidate is not None
    samples, files = [pair.candidate for pair in confirmation.pairs], len(candidate.files)
    return [
        *broken_constraints(settings.constraints, samples, state.facts.metric, files),
        *broken_sub_scores(settings.sub_scores, confirmation.pairs, settings.regression_threshold),
    ]


def ask_holdout(state: State, deps: Deps, name: str) -> Flow:
    """Ask the held-out benchmark about a candidate that holds: yes or no, and no more is told."""
    confirmation = confirmation_of(state, name)
    if deps.holdout is None or confirmation.holdout is not None:
        return state
    about = topic(state, "tournament", name)
    if state.holdout_asked >= HOLDOUT_QUESTIONS:
        reason = "the held-out benchmark has been asked as often as it may"
        return (yield control(about, "holdout", executor=name, answer=False, reason=reason))
    call = tool_call(about + "/holdout", "benchmark.holdout", executor=name)
    yield call
    gains = _holdout_gains(state, deps.holdout, confirmation)
    yield tool_result(call, {"asked": True})
    bar = holdout_bar(state.holdout_refused)
    answer = gains is not None and median(gains) > bar
    told: dict[str, Any] = {"gain": median(gains), "bar": bar} if gains else {}
    reason = "" if answer else "the held-out benchmark says no"
    return (yield control(about, "holdout", executor=name, answer=answer, reason=reason, **told))


def _holdout_gains(state: State, holdout: Bench, confirmation: Confirmation) -> list[float] | None:
    """The candidate's gain in a few pairs of the held-out benchmark; None where it failed."""
    assert state.facts is not None
    gains, key = [], f"round_{round_of(state).number}/{confirmation.executor_id}/holdout"
    for index in range(1 if state.facts.deterministic else HOLDOUT_PAIRS):
        order = [confirmation.base, confirmation.merge_commit]
        if candidate_first(state.facts.seed_key, key, index):
            order.reverse()
        scores = {}
        for commit in order:
            found = holdout.measure(commit, "holdout/held_out.log", None)
            if isinstance(found, Failed):
                return None
            scores[commit] = found.sample.score
        before, after = scores[confirmation.base], scores[confirmation.merge_commit]
        gains.append(relative_gain(before, after, state.facts.direction))
    return gains


def close(state: State, deps: Deps, name: str) -> Flow:
    """Measure a candidate that holds in fresh pairs: they give the score that is stored."""
    facts = state.facts
    assert facts is not None
    wanted = 0 if facts.deterministic else deps.config.settings.significance.closing_pairs
    confirmation = confirmation_of(state, name)
    sides = Sides(confirmation.base, confirmation.merge_commit, name, "closing", name)
    about = topic(state, "tournament", name)
    while len(confirmation.closing) < wanted:
        ensure_minutes(state, deps, about)
        ensure_time(state, deps, 2 * expected_seconds(state))
        found, state = yield from measure_pair(state, deps, sides, len(confirmation.closing))
        if isinstance(found, Failed):
            return (yield _failed(about, name, found))
        confirmation = confirmation_of(state, name)
    return state


def measure_pair(
    state: State, deps: Deps, sides: Sides, index: int
) -> Generator[Draft, State, tuple[Pair | Failed, State]]:
    """One pair, announced and reported; its order by a coin of ours, its seed on both sides."""
    assert state.facts is not None
    about = topic(state, "tournament", sides.name)
    key = f"round_{round_of(state).number}/{sides.name}/{sides.purpose}"
    call = tool_call(
        f"{about}/{sides.purpose}_{index + 1}",
        "benchmark.pair",
        executor=sides.executor,
        purpose=sides.purpose,
        commits=[sides.incumbent, sides.candidate],
        seed=_seed(state, deps, sides, index),
        candidate_first=candidate_first(state.facts.seed_key, key, index),
    )
    yield call
    both = _both(state, deps, call.payload["args"], sides)
    if isinstance(both, Failed):
        state = yield tool_result(call, {"failed": both.analysis.document()})
        return both, state
    incumbent, candidate = both
    found = Pair(
        incumbent=incumbent.sample,
        candidate=candidate.sample,
        candidate_first=call.payload["args"]["candidate_first"],
    )
    spent = found.incumbent.duration_s + found.candidate.duration_s
    told = {"pair": found.document(), "purpose": sides.purpose, "executor": sides.executor}
    told |= bound(incumbent, candidate)
    state = yield tool_result(call, told, {"duration_s": round(spent, 3)})
    return found, state


def _both(
    state: State, deps: Deps, args: dict[str, Any], sides: Sides
) -> tuple[Measured, Measured] | Failed:
    """Incumbent and candidate under one hold of the slot, measured in the order as given."""
    number = round_of(state).number
    order = [("incumbent", sides.incumbent), ("candidate", sides.candidate)]
    if args["candidate_first"]:
        order.reverse()
    found: dict[str, Measured] = {}
    with deps.bench.slot.hold(f"a pair of round {number}"):
        for side, commit in order:
            log = f"round_{number}/{sides.name}_{sides.purpose}_{side}.log"
            anew = "closing" if sides.purpose == "closing" else ""
            measured = deps.bench.measure(commit, log, args["seed"], anew)
            if not isinstance(measured, Measured):
                return measured
            found[side] = measured
    return found["incumbent"], found["candidate"]


def _seed(state: State, deps: Deps, sides: Sides, index: int) -> int | None:
    assert state.facts is not None
    executors = list(round_of(state).executors)
    position = executors.index(sides.executor) if sides.executor in executors else len(executors)
    key, number = state.facts.seed_key, round_of(state).number
    return seed_for(deps.config.settings, key, number, 100 * position + index, sides.purpose)


def estimate(state: State, pairs: Sequence[Pair]) -> Estimate | None:
    """What fresh pairs say of the gain; None where none were measured."""
    assert state.facts is not None
    return closing(pairs, state.facts.direction) if pairs else None
