"""Providers that are busy, break off, refuse or talk nonsense, within one deadline."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from selfimprove.agents.base import AgentFailure, Workspace
from selfimprove.agents.llm import limits
from selfimprove.agents.llm.agent import ModelAgent
from selfimprove.contracts.agent import AgentReply, Usage
from selfimprove.contracts.settings import ModelPrice, Settings
from selfimprove.errors import Stopped
from selfimprove.testing import a_plan, a_request
from selfimprove.testing.models import Cut, Fail, Hang, ModelServer, Prices, Refuse, Say, Trouble
from selfimprove.testing.models.brains import answering, calling, playing
from selfimprove.testing.models.server import MODEL
from selfimprove.testing.workspaces import make_workspace

from .conftest import Serve

PRICES = Prices(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75)
PRICE = ModelPrice(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75)
OVERLOADED = Refuse(529, kind="overloaded_error")
LIMITED = Refuse(429, {"retry-after": "1"}, kind="rate_limit_error")
CRITIC = playing(critic={"score": 0.5, "summary": "it is not clear what is to be changed"})


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path, {"src/a.py": "A = 1\n"}, timeout=60)


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a provider asks for is waited in full; the pauses of our own are short here."""
    monkeypatch.setattr("selfimprove.agents.llm.patience.FIRST_PAUSE_S", 0.02)


def troubles(*each: Trouble) -> Mapping[str, Any]:
    plan = dict(enumerate(each, 1))
    return {"trouble": plan.get, "prices": PRICES}


def ask(
    server: ModelServer, workspace: Workspace, role: str = "critic", wire: str = "anthropic"
) -> AgentReply:
    named = MODEL if wire == "anthropic" else f"{MODEL}@{server.url}/v1"
    agent = ModelAgent(wire, named, Settings(prices={MODEL: PRICE}))
    request = a_request(role)  # type: ignore[arg-type]
    prompt = f"Round 1; you are {request.agent_id}."
    return agent.ask(
        request.model_copy(update={"prompt": prompt}),
        replace(workspace, writable=role == "executor"),
    )


def counted(server: ModelServer) -> tuple[Any, ...]:
    ledger = server.ledger
    return (
        *(ledger.calls, ledger.input_tokens, ledger.output_tokens),
        *(ledger.cache_read_tokens, ledger.cache_write_tokens, pytest.approx(ledger.usd)),
    )


def booked(usage: Usage | None) -> tuple[Any, ...]:
    assert usage is not None
    return (
        *(usage.calls, usage.input_tokens, usage.output_tokens),
        *(usage.cache_read_tokens or 0, usage.cache_write_tokens or 0, usage.usd),
    )


@pytest.mark.parametrize("wire", ["anthropic", "openai-compatible"])
@pytest.mark.parametrize(
    ("trouble", "retries"),
    [((), None), ((OVERLOADED, OVERLOADED), 2), ((LIMITED,), 1), ((Refuse(503), Refuse(500)), 2)],
)
def test_a_busy_provider_is_asked_again(
    serve: Serve, workspace: Workspace, wire: str, trouble: tuple[Trouble, ...], retries: int | None
) -> None:
    server = serve(CRITIC, **troubles(*trouble))
    began = time.monotonic()
    reply = ask(server, workspace, wire=wire)
    assert reply.output["score"] == 0.5
    assert booked(reply.usage) == counted(server)
    assert reply.usage.calls == 1
    assert (reply.usage.retries, server.ledger.refused) == (retries, retries or 0)
    if LIMITED in trouble:
        assert time.monotonic() - began >= 1


@pytest.mark.parametrize("trouble", [Cut(), Fail()])
def test_a_broken_stream_is_paid_and_asked_again(
    serve: Serve, workspace: Workspace, trouble: Trouble
) -> None:
    server = serve(CRITIC, **troubles(trouble))
    reply = ask(server, workspace)
    assert reply.output["score"] == 0.5
    assert (server.ledger.cut, reply.usage.calls, reply.usage.retries) == (1, 2, 1)
    assert booked(reply.usage) == counted(server)


def test_a_broken_chat_stream_is_booked_though_its_count_never_came(
    serve: Serve, workspace: Workspace
) -> None:
    server = serve(CRITIC, **troubles(Cut()))
    usage = ask(server, workspace, wire="openai-compatible").usage
    assert (server.ledger.cut, usage.calls, usage.retries) == (1, 2, 1)
    assert usage.output_tokens == server.ledger.output_tokens
    assert usage.input_tokens > server.ledger.input_tokens / 2  # the second request's, and more


def test_a_wait_beyond_the_deadline_is_not_begun(serve: Serve, workspace: Workspace) -> None:
    server = serve(CRITIC, trouble=lambda _: Refuse(429, {"retry-after": "3600"}, message="slow"))
    began = time.monotonic()
    with pytest.raises(AgentFailure, match="asks to wait 3600 s") as caught:
        ask(server, workspace)
    assert time.monotonic() - began < 5
    assert caught.value.kind == "unreachable"
    assert booked(caught.value.usage) == (0, 0, 0, 0, 0, 0.0)


@pytest.mark.parametrize(
    ("refusal", "kind", "told"),
    [
        (Refuse(400, kind="invalid_request_error", message="too many images"), "exit", "too many"),
        (Refuse(401, kind="authentication_error", message="bad key"), "unreachable", "bad key"),
        (Refuse(402, kind="billing_error", message="credit is used up"), "unreachable", "credit"),
    ],
)
def test_what_waiting_does_not_mend_is_told_at_once(
    serve: Serve, workspace: Workspace, refusal: Refuse, kind: str, told: str
) -> None:
    server = serve(CRITIC, trouble=lambda _: refusal)
    with pytest.raises(AgentFailure, match=told) as caught:
        ask(server, workspace)
    assert (caught.value.kind, server.ledger.refused) == (kind, 1)


def test_an_answer_that_does_not_fit_is_mended(serve: Serve, workspace: Workspace) -> None:
    plan = a_plan("src/a.py")
    broken = {key: value for key, value in plan.items() if key != "hypothesis"}
    says = (
        Say("I would rather talk."),
        answering(broken),
        Say("Here: {not json}"),
        answering(plan),
    )
    server = serve(lambda turn: says[turn.turn], prices=PRICES)
    reply = ask(server, workspace, "planner")
    assert reply.output["hypothesis"] == plan["hypothesis"]
    assert booked(reply.usage) == counted(server)
    assert server.ledger.calls == 4
    complaint = str(server.ledger.turns[2][0])
    assert "hypothesis" in complaint


def test_an_answer_that_never_fits_is_a_failure_that_was_paid(
    serve: Serve, workspace: Workspace
) -> None:
    server = serve(playing(critic={"score": "high"}), prices=PRICES)
    with pytest.raises(AgentFailure) as caught:
        ask(server, workspace)
    assert caught.value.kind == "output"
    assert server.ledger.calls == 4
    assert booked(caught.value.usage) == counted(server)


def test_an_answer_in_plain_text_will_do(serve: Serve, workspace: Workspace) -> None:
    server = serve(lambda _: Say('Well, let me see.\n{"score": 0.25}'))
    assert ask(server, workspace).output["score"] == 0.25


def test_a_refusal_is_a_failure(serve: Serve, workspace: Workspace) -> None:
    server = serve(lambda _: Say("I cannot help with that.", refuses=True))
    with pytest.raises(AgentFailure) as caught:
        ask(server, workspace)
    assert caught.value.kind == "output"
    assert caught.value.usage is not None
    assert caught.value.usage.calls == server.ledger.calls


def test_a_model_that_never_comes_to_an_end_meets_its_turns(
    serve: Serve, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "USUAL_TURNS", 5)
    server = serve(lambda _: calling("list_files"))
    with pytest.raises(AgentFailure, match="within its limits") as caught:
        ask(server, workspace)
    assert (caught.value.kind, server.ledger.calls) == ("output", 5)


def test_what_was_paid_before_the_deadline_is_known(serve: Serve, workspace: Workspace) -> None:
    plan = {2: Hang(30)}
    server = serve(lambda _: calling("list_files"), trouble=plan.get, prices=PRICES)
    began = time.monotonic()
    with pytest.raises(AgentFailure) as caught:
        ask(server, replace(workspace, timeout=1.5))
    assert (caught.value.kind, time.monotonic() - began < 10) == ("timeout", True)
    assert booked(caught.value.usage) == counted(server)
    assert server.ledger.calls == 1


def test_a_stop_ends_a_request_under_way(serve: Serve, workspace: Workspace) -> None:
    server = serve(CRITIC, trouble=lambda _: Hang(30))
    threading.Timer(0.5, workspace.stop.set).start()
    began = time.monotonic()
    with pytest.raises(Stopped):
        ask(server, workspace)
    assert time.monotonic() - began < 10
