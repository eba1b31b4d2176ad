"""Whole runs whose every agent is a model, over a loopback server that has its bad moments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from selfimprove.testing.models import Cut, Fail, ModelServer, Prices, Refuse, Trouble
from selfimprove.testing.models.brains import calling, clumsy, lowering, playing, setting
from selfimprove.testing.models.said import Say, Turn
from selfimprove.testing.models.server import MODEL
from selfimprove.testing.rehearsal import Rehearsal

from .conftest import Serve

Stage = Callable[..., Rehearsal]
ROLES = ("researcher", "planner", "architect", "critic", "executor")
PRICES = Prices(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75)
BUSY: dict[int, Trouble] = {
    2: Refuse(429, {"retry-after": "1"}, kind="rate_limit_error"),
    4: Refuse(529, kind="overloaded_error"),
    5: Refuse(529, kind="overloaded_error"),
    11: Refuse(500, kind="api_error"),
}
BROKEN: dict[int, Trouble] = {7: Cut(), 15: Fail()}


def researcher(turn: Turn, _who: str) -> Say:
    if not turn.done:
        return calling("list_files")
    return Say('{"repo_analysis_summary": "three numbers, added up", "ideas": []}')


def played(stage: Stage, server: ModelServer, spec: str) -> Rehearsal:
    price = {"input": 3.0, "output": 15.0, "cache_read": 0.3, "cache_write": 3.75}
    settings: dict[str, Any] = {f"agents.{role}": spec for role in ROLES}
    play = stage(settings={**settings, "prices": {MODEL: price}})
    play.run(max_iterations=2)
    return play


def assert_counted(play: Rehearsal, server: ModelServer) -> None:
    told = play.document("state/run.json")
    totals = told["totals"]
    assert list(told["models"].values()) == [totals]
    assert told["cost_per_win"]["usd"] == totals["usd"] / told["wins"]
    ledger = server.ledger
    assert totals["calls"] == ledger.calls
    assert totals["input_tokens"] == ledger.input_tokens
    assert totals["output_tokens"] == ledger.output_tokens
    assert totals["tokens"] == ledger.input_tokens + ledger.output_tokens
    assert totals["usd"] == pytest.approx(ledger.usd)
    assert totals["retries"] == ledger.refused + ledger.cut
    assert totals.get("cache_read_tokens", 0) == ledger.cache_read_tokens


@pytest.mark.long
@pytest.mark.parametrize(
    ("spec", "trouble"),
    [
        ("anthropic:{model}", BUSY | BROKEN),
        ("openai:{model}", BUSY),
        ("openai-compatible:{model}@{url}/v1", BUSY),
    ],
)
def test_models_in_every_role_win_and_are_counted(
    stage: Stage, serve: Serve, spec: str, trouble: dict[int, Trouble]
) -> None:
    brain = playing(researcher=researcher, planner=clumsy(lowering), executor=setting)
    server = serve(brain, trouble=trouble.get, prices=PRICES)
    play = played(stage, server, spec.format(model=MODEL, url=server.url))

    report = play.document("state/merge_reports/round_2.json")
    assert report["status"] == "merged", report
    assert play.document("state/agent-settings.json")["status"] == "max_iterations"
    assert (server.ledger.refused, server.ledger.cut) == (4, len(trouble) - 4)
    assert server.ledger.usd > 0
    assert_counted(play, server)
    log = (play.layout.root / "logs/round_1/round_1_planner_a-plan_1.log").read_text()
    assert "-> read" in log
