"""Models and their budgets: what is reserved covers what is paid, and nothing more is asked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from selfimprove.agents.base import AgentFailure
from selfimprove.agents.llm.agent import ModelAgent
from selfimprove.agents.purse import OpenTab, Purse, Scope, Tab
from selfimprove.app.budget import with_recorded_budget
from selfimprove.contracts.agent import Usage
from selfimprove.contracts.settings import ModelPrice, Settings
from selfimprove.testing import a_request
from selfimprove.testing.models import Cut, Hang, Prices, Say, Turn
from selfimprove.testing.models.brains import answering, calling, lowering, playing, setting
from selfimprove.testing.models.server import MODEL
from selfimprove.testing.rehearsal import Rehearsal
from selfimprove.testing.spending import played
from selfimprove.testing.workspaces import make_workspace

from .conftest import Serve

Stage = Callable[..., Rehearsal]
ROLES = ("researcher", "planner", "architect", "critic", "executor")
PRICES = Prices(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75)
PRICE = {"input": 3.0, "output": 15.0, "cache_read": 0.3, "cache_write": 3.75}
PER_REQUEST = 0.25
"""More dollars than a first request of these tests may cost: 16,000 tokens said are 0.24."""


def reading(turn: Turn, _who: str) -> Say:
    """Read the same file again and again, then approve."""
    return calling("read", path="a.py") if len(turn.done) < 5 else answering({"score": 1.0})


def opened(purse: Purse, folder: Path, role: str) -> Tab:
    about = OpenTab(id="1", about="a", session="s", agent=role, role=role, args_hash="", request="")
    assert purse.open(about, folder / "s.tab") == ""
    tab = purse.tab("s")
    assert tab is not None
    return tab


def ask(tmp_path: Path, purse: Purse) -> tuple[Tab, Usage]:
    space = make_workspace(tmp_path, {"a.py": "A = 1\n" * 500}, writable=False)
    tab = opened(purse, tmp_path, "critic")
    settings = Settings(prices={MODEL: ModelPrice(**PRICE)})
    request = a_request("critic").model_copy(update={"prompt": "Round 1; you are critic_1."})
    agent = ModelAgent("anthropic", MODEL, settings)
    return tab, agent.ask(request, replace(space, tab=tab)).usage


def test_what_is_settled_is_what_the_server_counts_and_less_than_was_reserved(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reserved: list[Usage] = []
    reserve = Tab.reserve

    def watched(tab: Tab, worst: Usage) -> str:
        reserved.append(worst)
        return reserve(tab, worst)

    monkeypatch.setattr(Tab, "reserve", watched)
    server = serve(playing(critic=reading), prices=PRICES)
    tab, usage = ask(tmp_path, Purse(scopes=(Scope("the run", usd=100.0),)))
    assert usage.usd == pytest.approx(server.ledger.usd)
    assert (tab.now.settled.tokens, tab.now.reserved.tokens) == (usage.tokens, 0)
    assert len(reserved) == server.ledger.calls == 6
    for worst, (_, tokens) in zip(reserved, server.ledger.turns, strict=True):
        assert worst.input_tokens >= tokens.total


def test_a_request_that_might_pass_the_budget_is_not_made(serve: Serve, tmp_path: Path) -> None:
    server = serve(playing(critic=reading), prices=PRICES)
    cap = 2 * PER_REQUEST
    with pytest.raises(AgentFailure) as caught:
        ask(tmp_path, Purse(scopes=(Scope("the run", usd=cap - PER_REQUEST + 0.02),)))
    assert caught.value.kind == "budget"
    assert "the run has 0.2" in str(caught.value)
    assert "its next request may take" in str(caught.value)
    assert caught.value.usage is not None
    assert caught.value.usage.usd == pytest.approx(server.ledger.usd)
    assert 0 < server.ledger.usd < cap


def settings_of(spec: str) -> dict[str, Any]:
    return {**{f"agents.{role}": spec for role in ROLES}, "prices": {MODEL: PRICE}}


@pytest.mark.long
def test_a_run_stops_before_its_budget_and_goes_on_with_more(stage: Stage, serve: Serve) -> None:
    server = serve(playing(planner=lowering, executor=setting), prices=PRICES)
    play = stage(settings=settings_of(f"anthropic:{MODEL}"))
    first = play.run(max_iterations=5, **{"budget.run.usd": 0.4})
    assert first.state.status == "budget"
    assert 0 < first.state.totals.usd == pytest.approx(server.ledger.usd)
    assert server.ledger.usd <= 0.4
    assert first.state.settings is not None
    assert "dollars left" in first.state.settings.reason
    calls = server.ledger.calls
    again = play.run(max_iterations=5, **{"budget.run.usd": 0.4})
    assert (again.went_on, server.ledger.calls) == (False, calls)
    site = with_recorded_budget(play.site())
    assert site.config.settings.budget.run.usd == 0.4
    more = play.run(max_iterations=first.state.number, **{"budget.run.usd": 5.0})
    assert more.state.status == "max_iterations"
    assert more.state.wins_total > first.state.wins_total
    assert more.state.totals.usd == pytest.approx(server.ledger.usd)


@pytest.mark.long
def test_a_killed_run_books_the_worst_case_of_its_open_request(
    stage: Stage, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    brain = playing(planner=lowering, executor=setting)
    server = serve(brain, prices=PRICES, trouble={2: Hang(120)}.get)
    play = stage(settings={"number_of_agents": 1})
    play.layout.settings.parent.mkdir(parents=True)
    play.layout.settings.write_text(
        f'{{"number_of_agents": 1, "sandbox": {{"mode": "off"}}, "prices": {{"{MODEL}": '
        f'{{"input": 3.0, "output": 15.0, "cache_read": 0.3, "cache_write": 3.75}}}}}}'
    )
    words = ["run", str(play.repository.path), "--trees", str(play.trees), "--yes"]
    more = ["--agent", f"anthropic:{MODEL}", "--max-iterations", "1", "--budget-usd", "5"]
    argv = [sys.executable, "-m", "selfimprove", *words, *more]
    running = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    until = time.monotonic() + 300
    while server.taken < 2:
        assert time.monotonic() < until
        assert running.poll() is None
        time.sleep(0.1)
    time.sleep(0.5)
    os.kill(running.pid, signal.SIGKILL)
    running.communicate()
    assert server.ledger.calls == 1
    tab = OpenTab.parse_json(next(play.layout.replies.glob("*.tab")).read_bytes(), "tab")
    assert tab.reserved.output_tokens == 16_000
    again = subprocess.run(argv[:-2], capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert "budget.run.usd is 5, as at the last start" in again.stderr
    assert "was being asked when the run was cut off" in again.stderr
    totals = play.document("state/run.json")["totals"]
    assert totals["calls"] == server.ledger.calls + tab.reserved.counted
    assert totals["tokens"] == (
        server.ledger.input_tokens + server.ledger.output_tokens + tab.reserved.tokens
    )
    assert totals["usd"] == pytest.approx(server.ledger.usd + tab.reserved.usd)


@pytest.mark.long
@pytest.mark.parametrize("number", range(1, 9))
def test_a_budget_drawn_at_random_holds_by_the_servers_count(tmp_path: Path, number: int) -> None:
    """`python benchmarks/budgets.py` plays a hundred of them."""
    run = played(number, tmp_path)
    assert run.spent <= run.cap
    assert run.agrees
    assert run.status in ("budget", "max_iterations")


def test_what_broke_off_before_it_was_counted_is_booked_at_the_most_it_can_have_been(
    serve: Serve, tmp_path: Path
) -> None:
    server = serve(playing(critic=reading), prices=PRICES, trouble={2: Cut()}.get)
    space = make_workspace(tmp_path, {"a.py": "A = 1\n" * 500}, writable=False)
    settings = Settings(prices={MODEL: ModelPrice(**PRICE)})
    request = a_request("critic").model_copy(update={"prompt": "Round 1; you are critic_1."})
    usage = ModelAgent("openai", MODEL, settings).ask(request, space).usage
    assert server.ledger.cut == 1
    assert usage.counted == server.ledger.calls
    paid = server.ledger.input_tokens + server.ledger.output_tokens
    assert paid < usage.tokens < 2 * paid
    assert usage.usd >= server.ledger.usd
