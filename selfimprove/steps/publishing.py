"""Publishing a win and archiving losers: announced, done by compare-and-swap, reported."""

from __future__ import annotations

from collections.abc import Generator

from selfimprove.bench.effects import in_scores
from selfimprove.contracts.envelope import Draft, control, tool_call, tool_result
from selfimprove.contracts.significance import Estimate
from selfimprove.deps import Deps
from selfimprove.steps.base import round_of, topic
from selfimprove.store.state import Confirmation, State


def publish(state: State, deps: Deps) -> Generator[Draft, State, tuple[State, bool]]:
    """Move the improvement branch to the round's last win, if there is one, and tag the losers.

    Returns the state, and whether the win is held back.
    """
    current = round_of(state)
    won = {each.executor_id for each in current.won}
    order = deps.publisher.order(state, current.tip, won)
    if not order.updates:
        return state, False
    call = tool_call(topic(state, "tournament", "publish"), "git.publish", **order.document())
    yield call
    done = deps.publisher.carry_out(order)
    state = yield tool_result(call, done.document())
    if done.published:
        state = yield from _push(state, deps, done.published)
    return state, done.held_back


def _push(state: State, deps: Deps, commit: str) -> Generator[Draft, State, State]:
    """Push a published win, where that is wanted; a push that fails is a warning."""
    settings = deps.config.settings
    if not settings.auto_push:
        return state
    url = settings.fork_url or settings.current_repo_url
    call = tool_call(topic(state, "tournament", "push"), "git.push", commit=commit, url=url)
    yield call
    warning = deps.publisher.push(commit, url)
    state = yield tool_result(call, {"pushed": not warning, "warning": warning})
    if warning:
        state = yield control(topic(state, "tournament"), "warning", message=warning)
    return state


def final_commit(state: State, deps: Deps, won: Confirmation) -> str:
    """The commit to publish: the confirmed tree and parents, its message telling the story."""
    current = round_of(state)
    plan = current.plan_of(won.executor_id)
    hypothesis = " ".join(plan.hypothesis.split())  # on one line: it must not add any of ours
    message = (
        f"{plan.approach_family}: {_subject(hypothesis)}\n\n{hypothesis}\n\n"
        f"Plan: {plan.plan_id}\n"
        f"Score-Before: {won.score_before!r}\n"
        f"Score-After: {won.score_after!r}\n"
        f"Confidence: {_confidence(won, won.estimate)}\n"
        f"Benchmark: {' '.join(deps.config.settings.benchmark_command.split())}\n"
    )
    candidate = current.executors[won.executor_id].candidate
    assert candidate is not None
    built = deps.workshop.merge(won.base, candidate.commit, message, won.at)
    assert built is not None, "it was built before, to be measured"
    return built


def _confidence(won: Confirmation, found: Estimate | None) -> str:
    """How the win was proven, on one line."""
    if won.judgement is None or not won.judgement.looks:
        return "deterministic"
    look = won.judgement.looks[-1]
    proven = f"p={look.p:.2g} (needed {look.needed:.2g}) in {look.pairs} pairs"
    if found is None:
        return proven
    plain = in_scores(found)
    shown, form = (plain, ".4g") if plain else ((found.gain, found.low, found.high), ".2%")
    gain, low, high = (format(value, form) for value in shown)
    return f"{proven}; gain {gain} [{low}, {high}] in {found.pairs}"


def _subject(hypothesis: str) -> str:
    """The hypothesis as a commit's first line."""
    return hypothesis if len(hypothesis) <= 60 else f"{hypothesis[:57]}..."
