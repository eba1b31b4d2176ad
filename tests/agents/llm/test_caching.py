"""What planners are told alike is paid for once: counted by the loopback server's rules."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from selfimprove.agents.llm.agent import ModelAgent
from selfimprove.agents.llm.warmth import LEAST, Warmth
from selfimprove.agents.prompts import Question, build_request
from selfimprove.contracts.agent import AgentRequest
from selfimprove.contracts.settings import Settings
from selfimprove.testing import a_plan
from selfimprove.testing.models import ModelServer, Say, Turn
from selfimprove.testing.models.brains import answering, calling, playing, who
from selfimprove.testing.models.server import MODEL
from selfimprove.testing.workspaces import make_workspace

from .conftest import Serve

PLANNERS = ("planner_a", "planner_b", "planner_c")


def planner(name: str, round_number: int) -> AgentRequest:
    """What a planner is asked in the middle of a run."""
    told = "Keeping the totals of each day should improve the score: they are asked for twice"
    lost = {"hypothesis": told, "failure_analysis": {"what": told, "lesson": told}}
    context: dict[str, Any] = {
        "goal": {"objective": "Count faster", "scope": {"in_scope": ["src/"]}},
        "brief": {"repo_analysis_summary": told * 10, "ideas": [{"idea": told}] * 8},
        "history": [{"iteration": k, "losers": [lost] * 3} for k in range(10)],
        "family": ["data"],
    }
    session = f"run/round_{round_number}/{name}"
    return build_request(Question("planner", round_number, name, session, context))


def planning(turn: Turn, _who: str) -> Say:
    time.sleep(0.05)  # so that they overlap
    if len(turn.done) < 2:
        return calling("read", path="src/a.py")
    return answering(a_plan("src/a.py", family="data"))


def cached_share(server: ModelServer, names: tuple[str, ...], turns: int = 99) -> float:
    """Of what these agents had read in their first so many turns, the share from the cache."""
    read = [
        tokens for turn, tokens in server.ledger.turns if who(turn) in names and turn.turn < turns
    ]
    return sum(each.cache_read for each in read) / sum(each.total for each in read)


@pytest.mark.parametrize("wire", ["anthropic", "openai-compatible"])
def test_planners_after_the_first_read_from_its_cache(
    serve: Serve, tmp_path: Path, wire: str
) -> None:
    server = serve(playing(planner=planning))
    space = make_workspace(tmp_path, {"src/a.py": "A = 1\n" * 200}, writable=False)
    named = MODEL if wire == "anthropic" else f"{MODEL}@{server.url}/v1"
    agent = ModelAgent(wire, named, Settings())
    with ThreadPoolExecutor(len(PLANNERS)) as pool:
        replies = list(pool.map(lambda name: agent.ask(planner(name, 7), space), PLANNERS))
    first = min(PLANNERS, key=lambda name: cached_share(server, (name,), 1))
    others = tuple(name for name in PLANNERS if name != first)
    assert cached_share(server, others) >= 0.7
    assert cached_share(server, (first,), 1) == 0
    assert cached_share(server, others, 1) >= 0.7
    kept = sum(reply.usage.cache_read_tokens or 0 for reply in replies)
    assert kept == server.ledger.cache_read_tokens > 0


def test_who_comes_second_waits_until_the_first_answer_begins() -> None:
    warmth, order = Warmth(), []

    async def one(name: str, seconds: float) -> None:
        mine = await warmth.turn("x" * LEAST)
        order.append(f"{name} asks")
        await asyncio.sleep(seconds)
        order.append(f"{name} hears")
        warmth.kept(mine)
        warmth.over(mine)

    async def both() -> None:
        await asyncio.gather(one("a", 0.1), one("b", 0))

    asyncio.run(both())
    assert order == ["a asks", "a hears", "b asks", "b hears"]


def test_where_the_first_fails_another_is_the_first() -> None:
    warmth = Warmth()
    first = asyncio.run(warmth.turn("x" * LEAST))
    warmth.over(first)
    again = asyncio.run(warmth.turn("x" * LEAST))
    assert first == again != ""
    assert asyncio.run(warmth.turn("short")) == ""
