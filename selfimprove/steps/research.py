"""Step 1: a researcher looks for what could help."""

from __future__ import annotations

from collections.abc import Generator

from selfimprove.agents.base import AgentFailure
from selfimprove.contracts.envelope import VERIFIER, Draft, control, critique, plan_step
from selfimprove.deps import Deps
from selfimprove.review.verifier import verify_brief
from selfimprove.steps.asking import Ask, ask_all
from selfimprove.steps.base import Drafts, round_of, topic
from selfimprove.steps.budget import hurried
from selfimprove.steps.context import Turn, common, for_offline, request
from selfimprove.steps.reviewing import taxonomy
from selfimprove.store.state import State


def run(state: State, deps: Deps) -> Drafts:
    """Take the user's queued ideas, and ask for a brief; without one, planners use history."""
    about = topic(state, "research")
    queued = deps.ideas.queued()
    if queued and not round_of(state).ideas:
        state = yield control(about, "ideas_consumed", ideas=queued)
    # journaled first: a crash in between leaves an idea queued for once more, never lost
    deps.ideas.remove(round_of(state).ideas)
    if round_of(state).brief is None:
        state = yield from _ask(state, deps, about)
    brief = round_of(state).brief
    if brief is not None and not round_of(state).brief_verified:
        found = verify_brief(brief, taxonomy(deps))
        yield critique(about, VERIFIER, attempt=1, **found.document())


def _ask(state: State, deps: Deps, about: str) -> Generator[Draft, State, State]:
    agent = deps.roster.agent("researcher")
    context = common(state, deps)
    if agent.spec == "offline":
        context |= for_offline(state, deps)
    worker = deps.workshop.reader(hurried(agent, state, deps), round_of(state).incumbent.commit)
    asked = request(state, deps, Turn("researcher", "researcher"), context)
    answers = yield from ask_all(state, deps, [Ask(about, asked, agent.spec, worker)])
    answer = answers["researcher"]
    if isinstance(answer, AgentFailure):
        return (yield control(about, "warning", message=f"no research brief: {answer}"))
    return (yield plan_step(about, "research", brief=answer.reply.output))
