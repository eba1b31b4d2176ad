"""Coding CLIs on the command line: tried first, budgeted first, and who pays for them is said."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from selfimprove.cli import main
from selfimprove.contracts.settings import Settings
from selfimprove.setup.forecast import forecast
from selfimprove.setup.trust import trust_facts
from selfimprove.store.state import State
from selfimprove.testing.coding_clis import write_program
from selfimprove.testing.rehearsal import Rehearsal

Stage = Callable[..., Rehearsal]
CLAUDE = "claude-code:claude-haiku-5-5"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for kind in ("claude-code", "codex"):
        write_program(tmp_path / "bin", kind)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    for name in ("CLAUDE_CODE_OAUTH_TOKEN", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "bin"


def run(play: Rehearsal, *words: str, spec: str = CLAUDE) -> int:
    where = [str(play.repository.path), "--trees", str(play.trees)]
    return main(["run", *where, "--agent", spec, "--agents", "1", "--yes", *words])


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        (CLAUDE, "claude-code is not logged in"),
        ("codex", "codex is not logged in; run `codex login`"),
        ("aider", "the program `aider` is not on PATH"),
    ],
)
def test_what_is_missing_is_told_before_anything_is_run(
    stage: Stage, installed: Path, capsys: pytest.CaptureFixture[str], spec: str, told: str
) -> None:
    play = stage()
    assert run(play, "--no-budget", spec=spec) == 3
    assert told in capsys.readouterr().err
    assert not (play.layout.root / "tracking/baseline.json").exists()


def test_without_a_budget_nothing_begins_and_who_pays_is_said(
    stage: Stage,
    installed: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("CLAUDE_CODE_OAUTH_TOKEN", "a-token-nobody-may-see")
    assert run(stage()) == 2
    said = capsys.readouterr().err
    assert "is paid for by the account of the token in CLAUDE_CODE_OAUTH_TOKEN" in said
    assert "add --budget-usd N, or --no-budget" in said
    assert "a round of agents, usually: 5 calls" in said
    assert "a-token-nobody-may-see" not in said


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("typed", "keys", "asked"),
    [
        ("lots\n", "[]", "Calls this run may make to"),
        ("x\n", '["claude-code"]', "Dollars this run"),
    ],
)
def test_a_subscription_is_budgeted_in_calls(
    stage: Stage,
    installed: Path,
    monkeypatch: pytest.MonkeyPatch,
    typed: str,
    keys: str,
    asked: str,
) -> None:
    monkeypatch.setenv("CLAUDE_CODE_OAUTH_TOKEN", "t")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    monkeypatch.setenv("SELFIMPROVE_AGENT_KEYS", keys)
    said = Terminal()
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    monkeypatch.setattr("sys.stderr", said)
    assert run(stage()) == 2
    assert asked in said.getvalue()


def test_a_budget_in_dollars_wants_the_name_of_the_model(
    stage: Stage,
    installed: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("SELFIMPROVE_AGENT_KEYS", '["codex"]')
    assert run(stage(), "--budget-usd", "1", spec="codex") == 3
    assert "name its model (codex:MODEL)" in capsys.readouterr().err


def test_a_dry_run_says_what_it_costs_and_who_pays(
    stage: Stage,
    installed: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("CLAUDE_CODE_OAUTH_TOKEN", "t")
    play = stage()
    assert run(play, "--dry-run") == 0
    said = capsys.readouterr().out
    assert re.search(r"usually: 5 calls, [\d,]+ tokens, \$0.00, \d+ agent minutes", said)
    assert f"  {CLAUDE}: the account of the token in CLAUDE_CODE_OAUTH_TOKEN" in said
    assert run(play, "--dry-run", "--json", spec="codex") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["accounts"] == {"codex": "nobody is logged in"}
    assert answer["a_round"]["at_most"]["tokens"] is None


def test_doctor_says_which_are_there_logged_in_and_answer(
    stage: Stage,
    installed: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("CLAUDE_CODE_OAUTH_TOKEN", "t")
    monkeypatch.setenv("PATH", f"{installed}{os.pathsep}/usr/bin{os.pathsep}/bin")
    play = stage()
    where = [str(play.repository.path), "--trees", str(play.trees)]
    main(["doctor", *where, "--json"])
    rows = [r for r in json.loads(capsys.readouterr().out) if r["name"] == "coding CLI"]
    claude, codex, others = (row["text"] for row in rows)
    assert claude.startswith("claude-code: claude-code 1.2.3; paid for by the account of the token")
    assert "codex 1.2.3; nobody is logged in: run `codex login`" in codex
    assert others == "not installed: gemini, opencode, aider"
    main(["doctor", *where, "--json", "--full"])
    rows = [r for r in json.loads(capsys.readouterr().out) if r["name"] == "coding CLI"]
    assert rows[0]["text"].endswith("; it answers")


def test_the_most_of_a_cli_that_cannot_be_held_is_not_known(installed: Path) -> None:
    def most(spec: str) -> Any:
        roles = dict.fromkeys(("researcher", "planner", "architect", "critic", "executor"), spec)
        return forecast(Settings.model_validate({"agents": roles}), State()).most

    assert most("codex").tokens is None
    assert "tokens not known" in str(most("codex"))
    assert most(CLAUDE).tokens > 0
    assert most("codex").calls == most(CLAUDE).calls == most("offline").calls


def test_another_account_wants_to_be_confirmed_again() -> None:
    facts = [trust_facts(Settings(), "off", accounts=each) for each in ([], [("x", "a")])]
    facts.append(trust_facts(Settings(), "off", accounts=[("x", "b")]))
    assert len({each.digest() for each in facts}) == 3


@pytest.mark.long
def test_what_trying_it_cost_is_in_the_record(
    stage: Stage, installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    price = {"claude-haiku-5-5": {"input": 1.0, "output": 1.0}}
    settings = {"agents.researcher": CLAUDE, "agent_keys": ["claude-code"], "prices": price}
    play = stage(settings=settings)
    for rounds in (1, 2):  # each start tries it once, and each round asks it once
        play.run(max_iterations=rounds)
        totals = play.document("state/run.json")["totals"]
        assert totals["tokens"] == 2 * rounds * 117
        assert totals["usd"] == pytest.approx(2 * rounds * 117 / 1e6)
    where = [str(play.repository.path), "--trees", str(play.trees)]
    assert main(["validate", *where]) == 0
