"""Step 2: several planners in parallel, each one idea into one testable hypothesis."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any

from selfimprove.agents.base import AgentFailure
from selfimprove.contracts.envelope import Draft, control, plan_step
from selfimprove.deps import Deps
from selfimprove.review.critique import feedback
from selfimprove.review.families import assign
from selfimprove.review.lessons import nearest
from selfimprove.steps.asking import Ask, ask_affordable
from selfimprove.steps.base import Drafts, EndRun, round_of, topic
from selfimprove.steps.budget import hurried
from selfimprove.steps.context import Turn, common, for_offline, request
from selfimprove.steps.reviewing import family_facts
from selfimprove.store.state import State
from selfimprove.store.state_actors import PlannerState


def run(state: State, deps: Deps) -> Drafts:
    """Assign families, then ask every planner that still owes a plan."""
    current = round_of(state)
    if not current.planners or current.attempt > current.assigned:
        given = assign(_owing(state, deps), family_facts(state, deps))
        planners = {
            name: {"families": list(each.families), "files": list(each.files)}
            for name, each in given.items()
        }
        state = yield control(
            topic(state, "planning"),
            "families_assigned",
            planners=planners,
            attempt=current.attempt,
        )
    pending = [n for n, planner in round_of(state).planners.items() if planner.status == "pending"]
    yield from plan_all(state, deps, pending)


def plan_all(state: State, deps: Deps, planners: Iterable[str]) -> Generator[Draft, State, State]:
    """Ask these planners for a plan, or for a revision of the one they have."""
    asks = [_ask(state, deps, name, round_of(state).planners[name]) for name in planners]
    state, answers, refused = yield from ask_affordable(state, deps, asks)
    for name, answer in answers.items():
        about = topic(state, "planning", name)
        if isinstance(answer, AgentFailure):
            state = yield control(about, "planner_failed", planner=name, error=str(answer))
        else:
            state = yield plan_step(about, "plan", plan=answer.reply.output)
    if refused:
        raise EndRun("budget", refused)
    return state


def _owing(state: State, deps: Deps) -> list[str]:
    """The planners to ask, in planner order: all at first, then those whose plan was rejected."""
    planners = round_of(state).planners
    if not planners:
        return deps.roster.planners
    return [name for name, planner in planners.items() if planner.status == "pending"]


def _ask(state: State, deps: Deps, name: str, planner: PlannerState) -> Ask:
    agent = deps.roster.agent("planner", deps.roster.planners.index(name))
    context = common(state, deps) | _told(state, planner)
    if context["plan"]:
        context["nearest"] = nearest(context["plan"], deps.attempts.rows())
    if agent.spec == "offline":
        context |= for_offline(state, deps)
    worker = deps.workshop.reader(hurried(agent, state, deps), round_of(state).incumbent.commit)
    call = f"plan_{round_of(state).attempt + 1}"
    if planner.critique_round:
        call += f"_revision_{planner.critique_round}"
    asked = request(state, deps, Turn("planner", name, call), context)
    return Ask(topic(state, "planning", name), asked, agent.spec, worker)


def _told(state: State, planner: PlannerState) -> dict[str, Any]:
    """What this planner alone is told: its families, and why plans of this round fell."""
    current = round_of(state)
    told: list[Any] = [
        {"plan": other.plan.hypothesis, **feedback(other.verdicts, other.critiques)}
        for other in current.planners.values()
        if other.plan and (other is planner or any(not v.passed for v in other.verdicts))
    ]
    if planner.verify and planner.verify.status != "pass":
        told.append({"verify": [issue.document() for issue in planner.verify.issues]})
    if planner.sent_back:
        told.append({"gate": planner.sent_back})
    if current.refinement:
        told.append(current.refinement.document())
    return {
        "brief": current.brief.document() if current.brief else None,
        "family": planner.families,
        "files": planner.files,
        "feedback": told,
        "plan": planner.plan.document() if planner.plan and planner.critique_round else None,
    }
