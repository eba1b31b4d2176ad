"""Models on the command line: tried first, budgeted first, and what they may cost is said."""

from __future__ import annotations

import io
import json
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from selfimprove.cli import main
from selfimprove.contracts.settings import Settings
from selfimprove.setup.forecast import forecast
from selfimprove.store.state import State
from selfimprove.testing.models import ModelServer, Say
from selfimprove.testing.models.server import KEY, MODEL
from selfimprove.testing.rehearsal import Rehearsal

Stage = Callable[..., Rehearsal]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with ModelServer(lambda _: Say("hello")) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        yield server


def run(play: Rehearsal, *words: str, spec: str = f"anthropic:{MODEL}") -> int:
    where = [str(play.repository.path), "--trees", str(play.trees)]
    return main(["run", *where, "--agent", spec, "--agents", "1", "--yes", *words])


@pytest.mark.parametrize(
    ("words", "spec", "told"),
    [
        ((), f"anthropic:{MODEL}", "add --budget-usd N, or --no-budget"),
        (("--detach",), f"anthropic:{MODEL}", "add --budget-usd N, or --no-budget"),
    ],
)
def test_a_paid_model_wants_a_budget(
    stage: Stage,
    server: ModelServer,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    spec: str,
    told: str,
) -> None:
    play = stage()
    assert run(play, *words, spec=spec) == 2
    assert told in capsys.readouterr().err
    assert not play.layout.journal.exists()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("typed", "code", "told"),
    [
        ("2.5\n", 3, "is refused"),
        ("none\n", 3, "is refused"),
        ("lots\n", 2, "no amount of dollars"),
    ],
)
def test_in_a_terminal_it_asks(
    stage: Stage,
    server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
    typed: str,
    code: int,
    told: str,
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "other")  # so that the run ends at the next thing tried
    said = Terminal()
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    monkeypatch.setattr("sys.stderr", said)
    play = stage()
    assert run(play) == code
    assert f"Dollars this run may spend on anthropic:{MODEL}" in said.getvalue()
    assert told in said.getvalue()


@pytest.mark.parametrize("budget", [("--budget-usd", "1"), ("--no-budget",)])
@pytest.mark.parametrize(
    ("wrong", "told"),
    [("key", "the key in ANTHROPIC_API_KEY is refused"), ("model", "has no model 'claude-opus-5'")],
)
def test_a_bad_key_or_model_is_told_before_anything_is_run(
    stage: Stage,
    server: ModelServer,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    budget: tuple[str, ...],
    wrong: str,
    told: str,
) -> None:
    if wrong == "key":
        monkeypatch.setenv("ANTHROPIC_API_KEY", "other")
    spec = "anthropic:claude-opus-5" if wrong == "model" else f"anthropic:{MODEL}"
    play = stage()
    began = time.monotonic()
    assert run(play, *budget, spec=spec) == 3
    assert time.monotonic() - began < 10
    assert told in capsys.readouterr().err
    assert server.ledger.calls == 0
    assert not (play.layout.root / "tracking/baseline.json").exists()


def test_dollars_cannot_be_kept_to_without_a_price(
    stage: Stage, server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(stage(), "--budget-usd", "1", spec="anthropic:claude-99") == 3
    assert "set prices.claude-99" in capsys.readouterr().err


def test_a_dry_run_says_what_a_round_may_cost(
    stage: Stage, server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    play = stage()
    assert run(play, "--dry-run") == 0
    said = capsys.readouterr().out
    usual, most = (
        re.search(rf"{how}: ([\d,]+) calls, ([\d,]+) tokens, \$([\d,.]+), \d", said)
        for how in ("usually", "at most")
    )
    assert usual is not None
    assert most is not None
    for small, large in zip(usual.groups(), most.groups(), strict=True):
        assert 0 < float(small.replace(",", "")) < float(large.replace(",", ""))
    assert run(play, "--dry-run", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["a_round"]["usual"]["usd"] < answer["a_round"]["at_most"]["usd"]


def cost(**settings: Any) -> Any:
    return forecast(Settings.model_validate(settings), State())


def test_the_most_holds_every_retry() -> None:
    one = cost(number_of_agents=1, agents={"researcher": "offline"})
    # a researcher; three attempts at planning with three plans each, reviewed by two; three edits
    assert one.most.calls == 2 * (1 + 9 + 9 + 9 + 3)
    assert one.usual.calls == 5
    assert (one.most.usd, one.usual.usd) == (0.0, 0.0)
    assert cost(number_of_agents=2).most.calls == 2 * (1 + 2 * 30)
    assert cost(adaptive_refinement=False, number_of_agents=1).most.calls == 2 * (1 + 9 + 3)


def test_criticised_changes_cost_their_critics_and_revisions() -> None:
    plain = cost(number_of_agents=2)
    more = cost(number_of_agents=2, number_of_max_critics=1, critique_execution=True)
    assert more.usual.calls == plain.usual.calls + 2
    # three reviews of each change, and two revisions besides the fixes
    assert more.most.calls == plain.most.calls + 2 * 2 * (3 + 2)
    none = cost(number_of_agents=2, number_of_max_critics=0, critique_execution=True)
    assert none.most.calls == cost(number_of_agents=2, number_of_max_critics=0).most.calls


def test_what_is_not_known_is_not_summed() -> None:
    agents = {"planner": "anthropic:claude-99", "critic": f"anthropic:{MODEL}"}
    found = cost(agents=agents)
    assert (found.usual.usd, found.most.usd) == (None, None)
    assert "dollars not known" in found.lines()[0]
    local = cost(agents={"planner": "openai-compatible:m@http://127.0.0.1:1/v1"})
    assert local.most.usd == 0.0
