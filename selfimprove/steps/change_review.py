"""Critics look at what executors changed: after the guards, before anything is measured.

A change that they score too low goes back to its executor with their issues; one that stays so is
settled without having been measured.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from selfimprove.agents.prompts import shortened
from selfimprove.contracts.critique import Gate
from selfimprove.contracts.envelope import Draft, control, critique
from selfimprove.contracts.settings import Settings
from selfimprove.deps import Deps
from selfimprove.review.critique import issues
from selfimprove.review.gates import decide_change, refused_change
from selfimprove.review.verifier import verify_change
from selfimprove.steps import results
from selfimprove.steps.asking import Answer, Ask, ask_all
from selfimprove.steps.base import round_of, topic
from selfimprove.steps.budget import hurried, round_over
from selfimprove.steps.context import Turn, common, request
from selfimprove.steps.critic_review import as_written, critic_reply, critics
from selfimprove.steps.verifying import criticised, note_verified
from selfimprove.store.state import State
from selfimprove.store.state_actors import Candidate, ExecutorState, SentBack

Flow = Generator[Draft, State, State]

DIFF = 48_000
"""Characters of a change's patch that critics are shown; a longer one is cut in its middle."""


def owed(state: State, settings: Settings) -> list[str]:
    """The executors whose change is still to be criticised, or settled as its critics want."""
    return [
        name
        for name, each in round_of(state).executors.items()
        if criticised(settings) and each.candidate and not each.result and not each.samples
        and each.gate != "commit"
    ]  # fmt: skip


def review_changes(state: State, deps: Deps) -> Flow:
    """Ask the panel about every change that is owed it, and decide on each."""
    names = owed(state, deps.config.settings)
    asks = [
        _ask(state, deps, name, critic)
        for name in names
        if not _stands_still(round_of(state).executors[name])
        for critic in critics(deps)
    ]
    answers = yield from ask_all(state, deps, asks)
    if round_over(state, deps):
        return state  # not every critic was asked; nothing will be measured either
    for name in names:
        state = yield from _heard(state, deps, name, answers)
        state = yield from _verified(state, deps, name)
        state = yield from _decide(state, deps, name)
    return state


def _heard(state: State, deps: Deps, name: str, answers: dict[str, Answer]) -> Flow:
    executor = round_of(state).executors[name]
    for critic in critics(deps)[len(executor.critiques) :]:
        answer = answers.get(f"{name}/{critic}")
        if answer is None:
            break
        about, reply = topic(state, "execution", name), critic_reply(answer)
        state = yield critique(about, critic, executor=name, **reply.document())
    return state


def _verified(state: State, deps: Deps, name: str) -> Flow:
    """The verifier's word on a change, its critics' scores counted in."""
    current = round_of(state)
    executor = current.executors[name]
    candidate, wanted = executor.candidate, deps.config.settings.approval_threshold
    assert candidate is not None
    found = verify_change(
        current.plan_of(name), candidate.files, summary(candidate), executor.critiques, wanted
    )
    return (yield from note_verified(state, name, candidate.commit, found))


def _decide(state: State, deps: Deps, name: str) -> Flow:
    """Journal the decision on a change; one that is rejected has its result."""
    about, executor = topic(state, "execution", name), round_of(state).executors[name]
    if not executor.gate:
        gate = change_decision(executor, deps.config.settings)
        more = back_to(executor) if gate.decision == "retry" else {}
        state = yield control(about, "gate", executor=name, **gate.document(), **more)
        executor = round_of(state).executors[name]
    if executor.gate == "reject":
        told = results.analysis(
            "logic_error",
            f"its critics refuse the change: {executor.reason}",
            "; ".join(issues(executor.critiques)[:5]) or "they named no issue",
            "the plan itself was not tested: carry it out in another way, or plan something else",
        )
        result = results.failure(name, executor, told)
        state = yield control(about, "result", result=result.document())
    return state


def change_decision(executor: ExecutorState, settings: Settings) -> Gate:
    """What its critics' scores, or its standing still, come to for an executor's change; pure."""
    if _stands_still(executor):
        return refused_change(settings, "it was sent back, and changed nothing")
    return decide_change(executor.critiques, executor.revision + 1, settings)


def back_to(executor: ExecutorState) -> dict[str, Any]:
    """What an executor is sent back with; pure."""
    candidate = executor.candidate
    assert candidate is not None
    told = [f"a critic: {issue}" for issue in issues(executor.critiques)]
    back = SentBack(
        commit=candidate.commit,
        tree=candidate.tree,
        feedback=told or ["the critics score the change too low and name no issue"],
        fixes=candidate.fix_attempts,
    )
    return {"revision": executor.revision + 1, "sent_back": back.document()}


def _stands_still(executor: ExecutorState) -> bool:
    """Whether an executor gave back what it was sent back with: nobody is asked about it again."""
    before, now = executor.sent_back, executor.candidate
    return before is not None and now is not None and before.tree == now.tree


def summary(candidate: Candidate) -> str:
    """What the executor says of its change."""
    return str((candidate.claim or {}).get("summary", ""))


def _ask(state: State, deps: Deps, name: str, critic: str) -> Ask:
    current = round_of(state)
    executor, commit = current.executors[name], current.incumbent.commit
    candidate = executor.candidate
    assert candidate is not None
    quarantine = deps.workshop.tools.quarantine
    agent = deps.roster.agent("critic", int(critic.rpartition("_")[2]) - 1)
    context = common(state, deps) | {
        "plan": as_written(current.plan_of(name)),
        "change": {
            "files": candidate.files,
            "summary": summary(candidate),
            "diff": shortened(quarantine.diff(commit, candidate.commit), DIFF),
        },
    }
    call = f"revision_{executor.revision}" if executor.revision else ""
    asked = request(state, deps, Turn("critic", critic, call, about=name), context)
    worker = deps.workshop.reader(hurried(agent, state, deps), candidate.commit)
    about = topic(state, "execution", name, critic)
    return Ask(about, asked, agent.spec, worker, name=f"{name}/{critic}")
