"""Step 3: rules in code first and last, agents in between; a gate decides on every plan.

Critics can only reject. A plan that they score below the threshold goes back to its planner; when
too few plans of the round pass, planning is sent back with a refinement.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from selfimprove.agents.base import AgentFailure
from selfimprove.contracts.agent import AgentRole
from selfimprove.contracts.critique import (
    CriticReply,
    Gate,
    QualityReport,
    Refinement,
    RuleVerdict,
)
from selfimprove.contracts.envelope import VERIFIER, Draft, control, critique
from selfimprove.contracts.plan import ArchitectReview, Plan
from selfimprove.contracts.settings import Settings
from selfimprove.contracts.verify import VerifyResult
from selfimprove.deps import Deps
from selfimprove.review.checklist import advice
from selfimprove.review.context import ReviewContext
from selfimprove.review.critique import (
    architect_review,
    failures,
    malformed,
    reviewed,
)
from selfimprove.review.gate_facts import Case
from selfimprove.review.gates import decide
from selfimprove.review.lessons import nearest
from selfimprove.review.quality import quality_report
from selfimprove.review.rules import review_plan
from selfimprove.review.verifier import verify_plan
from selfimprove.steps.asking import Answer, Ask, ask_all
from selfimprove.steps.base import Drafts, round_of, topic
from selfimprove.steps.budget import hurried, too_dear
from selfimprove.steps.context import Turn, common, request
from selfimprove.steps.gate_command import gate_command
from selfimprove.steps.planning import plan_all
from selfimprove.steps.reviewing import review_context, terms
from selfimprove.store.state import Round, State
from selfimprove.store.state_actors import PlannerState

Flow = Generator[Draft, State, State]


def run(state: State, deps: Deps) -> Drafts:
    """Review until every plan is decided on; then say how many passed."""
    while owed := _owed(state):
        undecided, retrying = owed
        if undecided:
            state = yield from _review(state, deps, undecided)
        else:
            state = yield from plan_all(state, deps, retrying)
    yield from _take_stock(state, deps)


def _owed(state: State) -> tuple[list[str], list[str]] | None:
    """Which plans are to be reviewed next, or else which planners revise; None: all is decided.

    A review, or a revision, that a stop cut short comes to its end before anything else, so that
    everybody is asked what they would have been asked without it.
    """
    planners = {
        name: each
        for name, each in round_of(state).planners.items()
        if each.status == "pending" or (each.plan and not each.reviewed)
    }
    if not planners:
        return None
    retrying = [name for name, each in planners.items() if each.status == "pending"]
    undecided = [name for name in planners if name not in retrying]
    begun = [name for name in undecided if planners[name].verdicts]
    return begun if retrying else undecided, retrying


def _review(state: State, deps: Deps, names: list[str]) -> Flow:
    """Rules, then architect and critics for what passed them, then the gate."""
    state, contexts = yield from _rules(state, deps, names)
    sound = [
        name for name in names if all(v.passed for v in round_of(state).planners[name].verdicts)
    ]
    answers = yield from ask_all(state, deps, _asks(state, deps, sound))
    for name in sound:
        state = yield from _heard(state, deps, name, answers)
        state = yield from gate_command(state, deps, name)
    for name in names:
        state = yield from _verified(state, deps, name)
        state = yield from _gate(state, deps, name, contexts[name])
    return state


def _heard(state: State, deps: Deps, name: str, answers: dict[str, Answer]) -> Flow:
    """Journal what the architect and the critics said of a plan, as far as it is not yet."""
    about, planner = topic(state, "critic_review", name), round_of(state).planners[name]
    advised = answers[f"{name}/architect"]
    if planner.architect is None and not isinstance(advised, AgentFailure):
        advice = ArchitectReview.model_validate(advised.reply.output)
        state = yield critique(about, "architect", planner=name, advice=advice.document())
    for critic in critics(deps)[len(planner.critiques) :]:
        reply = critic_reply(answers[f"{name}/{critic}"])
        state = yield critique(about, critic, planner=name, **reply.document())
    return state


def _rules(
    state: State, deps: Deps, names: list[str]
) -> Generator[Draft, State, tuple[State, dict[str, ReviewContext]]]:
    contexts: dict[str, ReviewContext] = {}
    standing = list(round_of(state).approved().values())
    for name in names:
        planner = round_of(state).planners[name]
        plan = planner.plan
        assert plan is not None
        contexts[name] = review_context(state, deps, standing)
        verdicts = planner.verdicts  # there are some where a stop cut this review short
        if not verdicts:
            verdicts = list(review_plan(plan, contexts[name]))
            state = yield _ruling(topic(state, "critic_review", name), name, verdicts)
        if not failures(verdicts):
            standing.append(plan)
    return state, contexts


def _ruling(about: str, name: str, verdicts: list[RuleVerdict]) -> Draft:
    failed = failures(verdicts)
    return critique(
        about,
        "rules",
        planner=name,
        verdict="fail" if failed else "pass",
        score=0.0 if failed else 1.0,
        checked=[verdict.rule for verdict in verdicts],
        verdicts=[verdict.document() for verdict in verdicts],
        fixes=[verdict.remedy for verdict in failed],
    )


def critics(deps: Deps) -> list[str]:
    """The panel."""
    return [f"critic_{k}" for k in range(1, deps.config.settings.number_of_max_critics + 1)]


def _asks(state: State, deps: Deps, names: list[str]) -> list[Ask]:
    asks = []
    for name in names:
        asks.append(_reviewer(state, deps, name, "architect", "architect"))
        asks.extend(_reviewer(state, deps, name, "critic", critic) for critic in critics(deps))
    return asks


def _reviewer(state: State, deps: Deps, name: str, role: AgentRole, reviewer: str) -> Ask:
    current = round_of(state)
    planner = current.planners[name]
    assert planner.plan is not None
    position = int(reviewer.rpartition("_")[2]) - 1 if role == "critic" else 0
    agent = deps.roster.agent(role, position)
    context = common(state, deps) | {
        "brief": current.brief.document() if current.brief else None,
        "plan": planner.plan.document(),
        "nearest": nearest(planner.plan.document(), deps.attempts.rows()),
        "plans": [as_written(each.plan) for each in current.planners.values() if each.plan],
        "family": planner.families,
    }
    if agent.spec == "offline":
        context["editable"] = deps.workshop.editable(current.incumbent.commit)
    worker = deps.workshop.reader(hurried(agent, state, deps), current.incumbent.commit)
    call = f"revision_{planner.revision - 1}" if planner.revision > 1 else ""
    asked = request(state, deps, Turn(role, reviewer, call, about=name), context)
    about = topic(state, "critic_review", name, reviewer)
    return Ask(about, asked, agent.spec, worker, name=f"{name}/{reviewer}")


def as_written(plan: Plan) -> dict[str, Any]:
    """A plan without its reviews: the same to every reviewer, whoever's turn comes first."""
    none = {"critic_approved": False, "critic_review": None, "architect_review": None}
    return plan.model_copy(update=none).document()


def critic_reply(answer: Answer) -> CriticReply:
    """What a critic said; one that failed twice counts as malformed: score 0 and one issue."""
    if isinstance(answer, AgentFailure):
        return malformed(str(answer))
    return CriticReply.model_validate(answer.reply.output)


def _verified(state: State, deps: Deps, name: str) -> Flow:
    """Journal what the verifier says of a plan, once for each of its revisions."""
    planner = round_of(state).planners[name]
    if planner.verify is not None:
        return state
    found = verification(state, name, deps.config.settings)
    about, attempt = topic(state, "critic_review", name), planner.revision
    return (yield critique(about, VERIFIER, planner=name, attempt=attempt, **found.document()))


def verification(state: State, name: str, settings: Settings) -> VerifyResult:
    """What the verifier says of a plan that was reviewed; pure."""
    current = round_of(state)
    planner = current.planners[name]
    assert planner.plan is not None
    assert state.facts is not None
    metrics = {state.facts.metric, *current.incumbent.sub_scores}
    wanted = settings.approval_threshold
    return verify_plan(planner.plan, planner.verdicts, planner.critiques, wanted, metrics)


def _gate(state: State, deps: Deps, name: str, context: ReviewContext) -> Flow:
    planner = round_of(state).planners[name]
    plan = planner.plan
    assert plan is not None
    verdicts, gate = decision(round_of(state), name, deps.config.settings)
    architect = architect_review(planner.architect, verdicts, advice(plan, context))
    decided = reviewed(plan, verdicts, architect)
    return (
        yield control(
            topic(state, "critic_review", name),
            "gate",
            planner=name,
            **gate.document(),
            plan=decided.document(),
        )
    )


def decision(current: Round, name: str, settings: Settings) -> tuple[list[RuleVerdict], Gate]:
    """All verdicts on a plan, the gate's where the rules let it pass, and what follows; pure."""
    planner = current.planners[name]
    assert planner.plan is not None
    return decide(planner.verdicts, case_of(current, planner), settings)


def case_of(current: Round, planner: PlannerState) -> Case:
    """What the gate decides on."""
    assert planner.plan is not None
    return Case(
        plan=planner.plan,
        critiques=planner.critiques,
        architect=planner.architect,
        turn=planner.critique_round + 1,
        word=planner.word,
        experiments=sum(each.experiment for each in current.planners.values()),
    )


def _take_stock(state: State, deps: Deps) -> Drafts:
    """Report the quality of the round's plans; send planning back where too few passed."""
    settings, current = deps.config.settings, round_of(state)
    if current.quality is None or current.attempt > current.stock_taken:
        files = deps.workshop.editable(current.incumbent.commit)
        report = stock(state, settings, files)
        state = yield control(
            topic(state, "critic_review"),
            "quality",
            report=report.document(),
            attempt=current.attempt,
        )
    refinement = sent_back(round_of(state), settings)
    if refinement is not None:
        yield control(
            topic(state, "critic_review"), "planning_again", refinement=refinement.document()
        )


def stock(
    state: State, settings: Settings, files: Sequence[str], *, levels: bool = True
) -> QualityReport:
    """The quality of a round's plans; `files` may be changed. Pure: replay makes it again."""
    current = round_of(state)
    report = quality_report(judged(current), terms(state, settings, files, levels=levels))
    taken = current.model_copy(update={"quality": report})
    if not levels or sent_back(taken, settings) is None:
        return report
    return report.model_copy(update={"not_retried": too_dear(state, settings)})


def sent_back(current: Round, settings: Settings) -> Refinement | None:
    """What planning is sent back with, by the quality report; None where it is not."""
    assert current.quality is not None
    mendable = any(p.plan and not p.plan.critic_approved for p in current.planners.values())
    allowed = settings.adaptive_refinement and current.attempt < settings.max_plan_retries
    allowed = allowed and not current.quality.not_retried
    return current.quality.suggested_refinement if mendable and allowed else None


def judged(current: Round) -> list[tuple[Plan, list[RuleVerdict]]]:
    """The plans of the round, each with every verdict on it."""
    planners = current.planners.values()
    return [(each.plan, _all_verdicts(each.plan, each.verdicts)) for each in planners if each.plan]


def _all_verdicts(plan: Plan, verdicts: list[RuleVerdict]) -> list[RuleVerdict]:
    """The rules' verdicts, and the critics' where it was they who refused."""
    if plan.critic_approved or any(not verdict.passed for verdict in verdicts):
        return verdicts
    reason = plan.critic_review.rejection_reason if plan.critic_review else None
    refused = RuleVerdict(rule="critics", passed=False, code="low_score", message=reason or "")
    return [*verdicts, refused]
