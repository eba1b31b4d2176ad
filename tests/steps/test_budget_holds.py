"""A hundred runs of agents that spend at random: none passes any of its budgets."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from selfimprove.agents.base import AgentFailure
from selfimprove.agents.purse import Purse, Tab
from selfimprove.agents.replies import KeptReply, ReplyStore
from selfimprove.contracts.agent import AgentReply, AgentRequest, Usage
from selfimprove.contracts.envelope import Draft, Envelope, control
from selfimprove.contracts.settings import Limit, Settings
from selfimprove.deps import Deadline, Deps
from selfimprove.process import StopToken
from selfimprove.steps import budget, lost
from selfimprove.steps.asking import Ask, ask_all, why_not
from selfimprove.steps.base import EndRun
from selfimprove.store.fold import fold_one
from selfimprove.store.state import State
from selfimprove.testing import a_request
from selfimprove.testing.records import Recorder, set_up

PRICE = 5e-6
MOST = 3000
"""Tokens of one request."""


@dataclass
class Spender:
    """Asks a model that is not there: requests of random size, none above what it reserved."""

    deps: Deps
    spec: str
    seed: int
    metered: bool
    failing: float = 0.1
    """How often it fails."""

    def kept(self, _key: str) -> KeptReply | None:
        return None

    def __call__(self, request: AgentRequest, key: str) -> KeptReply:
        chance = random.Random(self.seed)
        usage = Usage(calls=0) if self.metered else Usage(duration_s=0.1)
        if self.metered:
            tab = self.deps.purse.tab(request.session_id)
            assert tab is not None
            usage = spend(tab, chance)
        if chance.random() < self.failing:
            raise AgentFailure("output", "nonsense", usage)
        reply = AgentReply(output={}, usage=usage)
        return KeptReply(key=key, spec=self.spec, session_id=request.session_id, reply=reply)


def spend(tab: Tab, chance: random.Random) -> Usage:
    spent = Usage(calls=0)
    for _ in range(chance.randint(1, 5)):
        most = chance.randint(1, MOST)
        while refused := tab.reserve(of(most)):
            if not tab.waits():
                raise AgentFailure("budget", refused, spent)
            time.sleep(0.001)
        if chance.random() < 0.2:
            time.sleep(0.001)
        spent = spent.plus(of(chance.randint(0, most)))
        tab.settle(spent)
    return spent


def of(tokens: int) -> Usage:
    return Usage(input_tokens=tokens, usd=tokens * PRICE, calls=1)


class Record:
    """A journal in memory."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.drafts: list[Draft] = []

    def drive(self, step: Generator[Draft, State, Any]) -> None:
        draft = next(step, None)
        while draft is not None:
            self.add(draft)
            try:
                draft = step.send(self.state)
            except StopIteration:
                return

    def add(self, draft: Draft) -> None:
        facts = {"id": "msg", "seq": 1, "prev": "", "trace_id": "run_1"}
        envelope = Envelope(**facts, timestamp="2026-01-01T00:00:00.000Z", **draft.model_dump())
        self.state = fold_one(self.state, envelope)
        self.drafts.append(draft)


@pytest.fixture
def begun(tmp_path: Path) -> State:
    record = Recorder(tmp_path / "root")
    return record.add([*set_up(), control("round_1", "round_started", round=1)])


def deps_of(settings: Settings, folder: Path) -> Deps:
    tools = SimpleNamespace(replies=ReplyStore(folder))
    parts = {"config": SimpleNamespace(settings=settings), "workshop": SimpleNamespace(tools=tools)}
    more = {"deadline": Deadline(), "purse": Purse(), "stop": StopToken()}
    return cast(Deps, SimpleNamespace(**parts, **more))


def asks(deps: Deps, chance: random.Random, number: int) -> list[Ask]:
    step, role = chance.choice(
        [("planning", "planner"), ("critic_review", "critic"), ("execution", "executor")]
    )
    found = []
    for k in range(chance.randint(1, 4)):
        name = f"{role}_{k + 1}"
        request = a_request(role).model_copy(  # type: ignore[arg-type]
            update={"agent_id": name, "session_id": f"run/round_1/{name}/{number}"}
        )
        metered = chance.random() < 0.8
        worker = Spender(deps, f"spec {number}", chance.getrandbits(32), metered)
        found.append(Ask(f"round_1/{step}/{name}", request, worker.spec, worker))
    return found


def caps(chance: random.Random) -> Limit:
    tokens = chance.choice([None, chance.randint(2000, 60_000)])
    usd = chance.choice([None, PRICE * chance.randint(2000, 60_000)])
    calls = chance.choice([None, chance.randint(1, 30)])
    return Limit(tokens=tokens, usd=usd, calls=calls)


def random_settings(chance: random.Random) -> Settings:
    limits = {name: caps(chance).document() for name in ("run", "iteration", "step", "call")}
    if chance.random() < 0.5:
        limits |= {name: {} for name in ("iteration", "step", "call")}
    roles = {"critic": caps(chance).document()} if chance.random() < 0.5 else {}
    return Settings.model_validate({"budget": {**limits, "roles": roles}})


def within(spent: budget.Spent, limit: Limit) -> bool:
    pairs = [(getattr(spent, name), getattr(limit, name)) for name in ("calls", "tokens", "usd")]
    return all(cap is None or used <= cap * (1 + 1e-9) for used, cap in pairs)


@pytest.mark.parametrize("seed", range(100))
def test_no_run_passes_a_budget(
    begun: State, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)
    chance = random.Random(seed)
    settings = random_settings(chance)
    limits = settings.budget
    deps = deps_of(settings, tmp_path / "replies")
    record, status, ended = Record(begun), "budget", ""
    for number in range(12):
        batch = asks(deps, chance, number)
        try:
            record.drive(ask_all(record.state, deps, batch))
        except EndRun as end:
            status, ended = end.status, end.reason
            break
    state, clock = record.state, deps.deadline
    assert status == "budget"
    assert within(budget.by_run(state, clock), limits.run), ended
    assert within(budget.by_round(state, clock), limits.iteration), ended
    for step in ("planning", "critic_review", "execution"):
        assert within(budget.by_step(state, clock, step), limits.step), ended
    for role, limit in limits.roles.items():
        assert within(budget.by_role(state, role), limit), ended
    assert state.totals.calls > 0 or ended
    assert list((tmp_path / "replies").glob("*.tab")) == []


def test_what_a_killed_process_had_open_is_booked_once_and_said(
    begun: State, tmp_path: Path
) -> None:
    deps = deps_of(Settings(), tmp_path)
    request = a_request("planner")
    worker = Spender(deps, "a spec", 1, metered=True)
    ask = Ask("round_1/planning/planner_a", request, worker.spec, worker)
    assert why_not(begun, deps, ask) == ""
    tab = deps.purse.tab(request.session_id)
    assert tab is not None
    tab.settle(of(100))
    tab.reserve(of(1000))
    saved = next(tmp_path.glob("*.tab")).read_bytes()
    # here the process is killed, and another one takes the run up
    record = Record(begun)
    record.drive(lost.book(record.state, deps))
    assert (record.state.totals.calls, record.state.totals.tokens) == (2, 1100)
    assert record.state.totals.usd == pytest.approx(1100 * PRICE)
    warning = record.drafts[-1].payload["message"]
    assert "the worst that its open request may have cost: 2 calls, 1,100 tokens" in warning
    assert list(tmp_path.glob("*.tab")) == []
    # killed once more, before the tab was gone: it stands in the record already
    (tmp_path / "again.tab").write_bytes(saved)
    record.drive(lost.book(record.state, deps))
    assert record.state.totals.calls == 2


def test_a_reply_that_was_kept_and_not_booked_is_booked_as_it_was(
    begun: State, tmp_path: Path
) -> None:
    deps = deps_of(Settings(), tmp_path)
    request = a_request("planner")
    worker = Spender(deps, "a spec", 4, metered=True, failing=0)
    ask = Ask("round_1/planning/planner_a", request, worker.spec, worker)
    assert why_not(begun, deps, ask) == ""
    kept = deps.workshop.tools.replies.put(ask())
    record = Record(begun)
    record.drive(lost.book(record.state, deps))
    assert record.state.totals.tokens == kept.reply.usage.tokens > 0
    assert record.state.round is not None
    assert record.state.round.answered == [kept.key]
