"""Asking agents in parallel: announced, asked, asked once more with the error, reported."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Generic, Protocol, Self, TypeVar

from selfimprove.agents.base import AgentFailure
from selfimprove.agents.prompts import quoted
from selfimprove.agents.purse import OpenTab
from selfimprove.agents.replies import KeptReply, request_key
from selfimprove.contracts.agent import AgentRequest
from selfimprove.contracts.envelope import Draft, tool_call, tool_result
from selfimprove.deps import Deps
from selfimprove.steps.base import EndRun, round_of
from selfimprove.steps.budget import out_of_round, round_over, take_note, used_up_for
from selfimprove.steps.waiting import Patience, outwait
from selfimprove.store.state import State

T = TypeVar("T")


class Worker(Protocol):
    """Asks one agent and keeps its reply; called in a thread of its own."""

    def kept(self, key: str) -> KeptReply | None:
        """The reply that this very request got before, if it was kept."""
        ...

    def __call__(self, request: AgentRequest, key: str) -> KeptReply:
        """Ask, and keep the reply under the request's key; raises AgentFailure, Stopped."""
        ...


@dataclass(frozen=True)
class Ask:
    """One question to one agent."""

    correlation_id: str
    request: AgentRequest
    spec: str
    worker: Worker
    attempt: int = 1
    name: str = ""
    """Told apart by this where one agent is asked several things; else by its id."""

    @property
    def key(self) -> str:
        """What its answer is returned under."""
        return self.name or self.request.agent_id

    @cached_property
    def digest(self) -> str:
        """What its reply is kept under; contexts are large, so it is made once."""
        return request_key(self.request, self.spec)

    def __call__(self) -> KeptReply:
        """Ask; raises AgentFailure, Stopped."""
        return self.worker(self.request, self.digest)


Answer = KeptReply | AgentFailure
Asking = Generator[Draft, State, dict[str, Answer]]
Answered = Generator[Draft, State, tuple[State, dict[str, Answer], str]]
"""The answers there are, and which budget kept the others from being asked; empty where none."""

MOST_TOLD = 2000
"""Characters of an error that go back to the agent."""
TRIES = 2
"""An agent that fails is asked once more with the error, then left out of the round."""


def intent(ask: Ask) -> Draft:
    """The intent of a paid call; the request itself is named by its digest."""
    return tool_call(
        ask.correlation_id,
        "agent.ask",
        agent=ask.request.agent_id,
        role=ask.request.role,
        spec=ask.spec,
        session_id=ask.request.session_id,
        request=ask.digest,
        attempt=ask.attempt,
    )


def outcome(ask: Ask, answer: Answer) -> Draft:
    """The result of a call, with what it cost."""
    call = intent(ask)
    if isinstance(answer, AgentFailure):
        result = {
            "agent": ask.request.agent_id,
            "spec": ask.spec,
            "ok": False,
            "kind": answer.kind,
            "error": answer.message,
        }
        return tool_result(call, result, answer.usage.document() if answer.usage else None)
    result = {"agent": ask.request.agent_id, "spec": ask.spec, "ok": True, "reply": answer.key}
    return tool_result(call, result, answer.reply.usage.document())


def again(ask: Ask, failure: AgentFailure) -> Ask:
    """The same question with the error of the first answer."""
    feedback = [*ask.request.context.get("feedback", []), f"your last answer failed: {failure}"]
    context = {**ask.request.context, "feedback": feedback}
    told = quoted(str(failure), MOST_TOLD)
    prompt = f"{ask.request.prompt}\n\nYour last answer could not be used:\n{told}\n"
    request = ask.request.model_copy(update={"context": context, "prompt": prompt})
    return replace(ask, request=request, attempt=ask.attempt + 1)


def ask_all(state: State, deps: Deps, asks: Sequence[Ask]) -> Asking:
    """Ask every agent at once; returns each one's answer by its key, in the order asked.

    Where a budget is used up, whoever is being asked may finish; then EndRun is raised.
    """
    _, answers, refused = yield from ask_affordable(state, deps, asks)
    if refused:
        raise EndRun("budget", refused)
    return answers


def ask_affordable(state: State, deps: Deps, asks: Sequence[Ask]) -> Answered:
    """The same, for a caller that makes use of what answers there are before it ends the run."""
    batch = _Batch(owed=list(asks))
    with Pool[KeptReply](deps, len(asks)) as pool:
        while batch.owed or batch.running:
            owed, batch.owed = batch.owed, []
            for ask in owed:
                state = yield from _begin(state, deps, batch, ask, pool)
            if batch.running:
                done = pool.wait(batch.running)
                for future in sorted(done, key=lambda each: batch.running[each].key):
                    state = yield from _ended(state, deps, batch, future)
            if batch.away and not batch.running and not batch.refused:
                state = yield from outwait(state, deps, batch.patience, batch.away)
                batch.owed, batch.away = [ask for ask, _ in batch.away], []
    found = batch.answers
    return state, {ask.key: found[ask.key] for ask in asks if ask.key in found}, batch.refused


@dataclass
class _Batch:
    """Questions asked side by side: which are owed, under way, answered, or waited for."""

    owed: list[Ask]
    running: dict[Future[KeptReply], Ask] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)
    away: list[tuple[Ask, AgentFailure]] = field(default_factory=list)
    refused: str = ""
    patience: Patience = field(default_factory=Patience)


def _begin(
    state: State, deps: Deps, batch: _Batch, ask: Ask, pool: Pool[KeptReply]
) -> Generator[Draft, State, State]:
    state, kept = yield from kept_reply(state, ask)
    if kept is not None:
        batch.answers[ask.key] = kept
    elif round_over(state, deps):
        batch.answers[ask.key] = out_of_round()
    elif told := why_not(state, deps, ask):
        batch.refused = told
    else:
        state = yield intent(ask)
        batch.running[pool.submit(ask)] = ask
    return state


def _ended(
    state: State, deps: Deps, batch: _Batch, future: Future[KeptReply]
) -> Generator[Draft, State, State]:
    ask = batch.running.pop(future)
    answer = settled(future)
    state = yield outcome(ask, answer)
    take_note(state, deps, ask.correlation_id, ask.request.session_id)
    if not isinstance(answer, AgentFailure):
        batch.answers[ask.key] = answer
    elif answer.kind == "budget":
        batch.refused = str(answer)
    elif answer.kind == "unreachable":
        batch.away.append((ask, answer))
    elif ask.attempt < TRIES:
        batch.owed.append(again(ask, answer))
    else:
        batch.answers[ask.key] = answer
    return state


def why_not(state: State, deps: Deps, ask: Ask) -> str:
    """Which budget forbids another call; where none does, its tab is open from here on."""
    settings, clock, about = deps.config.settings, deps.deadline, ask.correlation_id
    if told := used_up_for(state, settings, clock, about, ask.request.role):
        return told
    take_note(state, deps, about)
    return opened_tab(deps, ask)


def opened_tab(deps: Deps, ask: Ask) -> str:
    """Open the tab of a question, or say which budget forbids it."""
    payload = intent(ask).payload
    opened = OpenTab(
        id=uuid.uuid4().hex,
        about=ask.correlation_id,
        session=ask.request.session_id,
        agent=ask.request.agent_id,
        role=ask.request.role,
        spec=ask.spec,
        args_hash=payload["args_hash"],
        request=payload["args"]["request"],
    )
    return deps.purse.open(opened, deps.workshop.tools.replies.tab(opened.session))


Kept = Generator[Draft, State, tuple[State, KeptReply | None]]


def kept_reply(state: State, ask: Ask) -> Kept:
    """The reply kept from before a crash; charged now where the crash came before that."""
    kept = ask.worker.kept(ask.digest)
    if kept is not None and kept.key not in round_of(state).answered:
        yield intent(ask)
        state = yield outcome(ask, kept)
    return state, kept


def settled(future: Future[KeptReply]) -> Answer:
    """What a worker came back with; a bug in it, or a stop, is raised here."""
    error = future.exception()
    if isinstance(error, AgentFailure):
        return error
    return future.result()


class Pool(Generic[T]):
    """Threads that are stopped, not abandoned, when the step ends early."""

    def __init__(self, deps: Deps, size: int) -> None:
        self._deps = deps
        self._pool = ThreadPoolExecutor(max(1, size), thread_name_prefix="agent")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            # a worker runs its child under the same token: ending that ends the worker
            self._deps.stop.set()
        self._pool.shutdown(wait=True, cancel_futures=kind is not None)

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Start some work in a thread."""
        return self._pool.submit(work)

    def wait(self, running: Iterable[Future[T]]) -> set[Future[T]]:
        """The workers that came back; looks up now and then so that a stop is seen."""
        while True:
            done, _ = wait(list(running), timeout=0.5, return_when=FIRST_COMPLETED)
            self._deps.stop.raise_if_set()
            if done:
                return done
