"""Executors at work in parallel: edit, look at the commit, run the guards, mend, at most so often.

Each executor is a small machine of two kinds of work, done in threads: asking its agent (which
ends in a commit), and inspecting that commit. The step's own thread alone journals.
"""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from selfimprove.agents.base import AgentFailure
from selfimprove.agents.replies import KeptReply
from selfimprove.contracts.envelope import Draft, control, plan_step
from selfimprove.deps import Deps
from selfimprove.review.verifier import smallest_patch, steps_missed, verify_change
from selfimprove.steps import results
from selfimprove.steps.asking import (
    TRIES,
    Ask,
    Pool,
    again,
    intent,
    kept_reply,
    outcome,
    why_not,
)
from selfimprove.steps.base import EndRun, round_of, topic
from selfimprove.steps.budget import hurried, out_of_round, round_over, take_note
from selfimprove.steps.context import Turn, common, request
from selfimprove.steps.verifying import criticised, note_verified
from selfimprove.steps.waiting import Patience, outwait
from selfimprove.store.state import State
from selfimprove.store.state_actors import Candidate, ExecutorState
from selfimprove.workshop import Inspection

Flow = Generator[Draft, State, State]


@dataclass(frozen=True)
class _Asking:
    executor: str
    ask: Ask


@dataclass(frozen=True)
class _Inspecting:
    executor: str
    ask: Ask
    kept: KeptReply


@dataclass(frozen=True)
class Mend:
    """What an executor is sent back with: what failed, and its last commit."""

    attempt: int = 0
    """How often it was sent back to mend something."""
    feedback: tuple[str, ...] = ()
    commit: str = ""
    revision: int = 0
    """How often it was sent back by critics."""
    fixing: bool = True
    """A guard or the verifier sent it back, not its critics."""
    steps: tuple[int, ...] = ()
    """The steps of its plan that are still to be carried out; empty for all of them."""

    @classmethod
    def of(cls, executor: ExecutorState) -> Mend:
        """What an executor without a candidate is asked: to begin, or to answer its critics."""
        back = executor.sent_back
        if back is None:
            return cls()
        told = tuple(back.feedback)
        return cls(back.fixes, told, back.commit, executor.revision, fixing=False)

    @property
    def call(self) -> str:
        """Tells this question to the executor from the others of the round."""
        parts = [f"revision_{self.revision}"] if self.revision else []
        if self.attempt and self.fixing:
            parts.append(f"fix_{self.attempt}")
        return "_".join(parts)


_Work = _Asking | _Inspecting
_Came = KeptReply | Inspection


def edit_all(state: State, deps: Deps) -> Flow:
    """Bring every executor to a candidate commit or a result.

    Where a budget is used up, whoever is at work may finish; then EndRun is raised.
    """
    owing = [
        name
        for name, executor in round_of(state).executors.items()
        if executor.result is None and executor.candidate is None
    ]
    with Pool[_Came](deps, len(owing)) as pool:
        engine = _Engine(pool)
        running = engine.running
        for name in owing:
            mend = Mend.of(round_of(state).executors[name])
            state = yield from _begin(state, deps, engine, _ask(state, deps, name, mend))
        while running or (engine.away and not engine.refused):
            if not running:
                state = yield from outwait(state, deps, engine.patience, engine.away)
                owed, engine.away = engine.away, []
                for ask, _ in owed:
                    state = yield from _begin(state, deps, engine, ask)
                continue
            for future in sorted(pool.wait(running), key=lambda each: running[each].executor):
                work = running.pop(future)
                if isinstance(work, _Asking):
                    state = yield from _answered(state, deps, engine, work, future)
                else:
                    state = yield from _inspected(state, deps, engine, work, future)
    if engine.refused:
        raise EndRun("budget", engine.refused)
    return state


@dataclass
class _Engine:
    pool: Pool[_Came]
    running: dict[Future[_Came], _Work] = field(default_factory=dict)
    refused: str = ""
    """Why some executor could not be asked: a budget that is used up."""
    away: list[tuple[Ask, AgentFailure]] = field(default_factory=list)
    """Who could not be reached, and is asked once more when everybody else has ended."""
    patience: Patience = field(default_factory=Patience)
    standing: dict[str, Draft] = field(default_factory=dict)
    """Candidates that could be measured, of executors who were asked for steps they left out."""

    def given_up(self, state: State, name: str, error: AgentFailure) -> Draft:
        """What an executor that gives no answer any more comes to: what it had, if it will do."""
        return self.standing.pop(name, None) or _failed(state, name, error)


def _begin(state: State, deps: Deps, engine: _Engine, ask: Ask) -> Flow:
    name = ask.request.agent_id
    state, kept = yield from kept_reply(state, ask)
    if kept is not None:
        _inspect(deps, engine, _Asking(name, ask), kept, state)
        return state
    if round_over(state, deps):
        return (yield engine.given_up(state, name, out_of_round()))
    if told := why_not(state, deps, ask):
        engine.refused = told
        return state
    state = yield control(
        topic(state, "execution", name), "executor_status", executor=name, status="running"
    )
    state = yield intent(ask)
    work = engine.pool.submit(ask)
    engine.running[work] = _Asking(name, ask)
    return state


def _answered(
    state: State, deps: Deps, engine: _Engine, work: _Asking, future: Future[_Came]
) -> Flow:
    error = future.exception()
    if isinstance(error, AgentFailure):
        state = yield outcome(work.ask, error)
        take_note(state, deps, work.ask.correlation_id, work.ask.request.session_id)
        if error.kind == "budget":
            engine.refused = str(error)
            return state
        if error.kind == "unreachable":
            engine.away.append((work.ask, error))
            return state
        if work.ask.attempt < TRIES:
            return (yield from _begin(state, deps, engine, again(work.ask, error)))
        return (yield engine.given_up(state, work.executor, error))
    kept = future.result()
    assert isinstance(kept, KeptReply)
    state = yield outcome(work.ask, kept)
    take_note(state, deps, work.ask.correlation_id, work.ask.request.session_id)
    _inspect(deps, engine, work, kept, state)
    return state


def _inspect(deps: Deps, engine: _Engine, work: _Asking, kept: KeptReply, state: State) -> None:
    current = round_of(state)
    inspect = partial(
        deps.workshop.inspect,
        current.incumbent.commit,
        kept,
        current.plan_of(work.executor),
        f"round_{current.number}/{work.executor}",
    )
    engine.running[engine.pool.submit(inspect)] = _Inspecting(work.executor, work.ask, kept)


def _inspected(
    state: State, deps: Deps, engine: _Engine, work: _Inspecting, future: Future[_Came]
) -> Flow:
    found = future.result()
    assert isinstance(found, Inspection)
    settings, context = deps.config.settings, work.ask.request.context
    fixes, summary = int(context.get("fix_attempt", 0)), _summary(work.kept)
    verdict = verify_change(round_of(state).plan_of(work.executor), found.files, summary)
    missed = steps_missed(verdict) if found.ok else []
    # who was told of the very same steps before will not carry them out when told once more
    rerun = bool(missed) and missed != context.get("steps") and fixes < settings.max_fix_attempts
    for_critics = found.ok and not rerun and criticised(settings)
    if not for_critics and not (found.feedback and verdict.status == "pass"):
        state = yield from note_verified(state, work.executor, kept_commit(work.kept), verdict)
    executor = round_of(state).executors[work.executor]
    engine.standing.pop(work.executor, None)
    if rerun:
        engine.standing[work.executor] = _settled(state, work, found, fixes)
    told = [issue.message for issue in verdict.issues] if rerun else [found.feedback]
    if rerun or (found.feedback and fixes < settings.max_fix_attempts):
        steps = tuple(missed) if rerun else ()
        mend = Mend(fixes + 1, tuple(told), kept_commit(work.kept), executor.revision, steps=steps)
        return (yield from _begin(state, deps, engine, _ask(state, deps, work.executor, mend)))
    return (yield _settled(state, work, found, fixes))


def _settled(state: State, work: _Inspecting, found: Inspection, fixes: int) -> Draft:
    """The candidate that an inspected commit is, or the result that it comes to."""
    about, claim = topic(state, "execution", work.executor), work.kept.reply.output
    if found.ok:
        candidate = Candidate(
            commit=kept_commit(work.kept),
            tree=found.tree,
            files=list(found.files),
            claim=claim,
            fix_attempts=fixes,
        )
        document = candidate.document()
        return plan_step(about, "execute", executor=work.executor, candidate=document)
    assert found.analysis is not None
    executor = round_of(state).executors[work.executor]
    result = results.failure(work.executor, executor, found.analysis, found.disqualification)
    result = result.model_copy(update={"claim": claim})
    return control(about, "result", result=result.document())


def _summary(kept: KeptReply) -> str:
    return str(kept.reply.output.get("summary", ""))


def kept_commit(kept: KeptReply) -> str:
    """The commit that an executor's kept reply names."""
    assert kept.commit, "an executor's reply is kept with its commit"
    return kept.commit


def _ask(state: State, deps: Deps, name: str, mend: Mend) -> Ask:
    current = round_of(state)
    agent = deps.roster.agent("executor", int(name.removeprefix("executor_")) - 1)
    plan = current.plan_of(name)
    context: dict[str, Any] = common(state, deps) | {
        "plan": (smallest_patch(plan, mend.steps) if mend.steps else plan).document(),
        "feedback": list(mend.feedback),
    }
    if mend.attempt:
        context["fix_attempt"] = mend.attempt
    if mend.revision:
        context["revision"] = mend.revision
    if mend.steps:
        context["steps"] = list(mend.steps)
    worker = deps.workshop.editor(
        hurried(agent, state, deps), current.incumbent.commit, mend.commit, current.started_at
    )
    asked = request(state, deps, Turn("executor", name, mend.call), context)
    return Ask(topic(state, "execution", name), asked, agent.spec, worker)


def _failed(state: State, name: str, error: AgentFailure) -> Draft:
    how = "was not asked" if str(error) == str(out_of_round()) else "failed twice"
    told = results.analysis(
        "timeout" if error.kind == "timeout" else "infrastructure",
        f"the executor {how}: {error}",
        "the agent that was to carry the plan out gave no usable answer",
        "the plan itself was not tested",
    )
    result = results.failure(name, round_of(state).executors[name], told)
    return control(topic(state, "execution", name), "result", result=result.document())
