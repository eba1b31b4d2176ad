"""Who pays for a coding CLI, and how a login is shared."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from selfimprove.agents.cli_tools.account import (
    Account,
    account_of,
    no_account,
    one_at_a_time,
)
from selfimprove.agents.cli_tools.table import ROWS
from selfimprove.contracts.settings import CODING_CLIS, Settings
from selfimprove.errors import Stopped
from selfimprove.process import StopToken

CHATGPT = {"auth_mode": "chatgpt", "OPENAI_API_KEY": None, "tokens": {"access_token": "t"}}
BY_KEY = {"auth_mode": "apikey", "OPENAI_API_KEY": "k", "tokens": None}


def found(scheme: str, environ: dict[str, str], *keys: str) -> Account | None:
    return account_of(ROWS[scheme], Settings.model_validate({"agent_keys": keys}), environ)


def stored(folder: Path, place: str, document: Any) -> dict[str, str]:
    (folder / place).parent.mkdir(parents=True)
    (folder / place).write_text(json.dumps(document))
    return {"HOME": str(folder)}


def test_the_table_has_what_settings_know() -> None:
    assert tuple(ROWS) == CODING_CLIS


def test_a_token_goes_before_the_store_and_a_key_only_where_asked_for(tmp_path: Path) -> None:
    home = stored(tmp_path, ".claude/.credentials.json", {"claudeAiOauth": {}})
    environ = home | {"CLAUDE_CODE_OAUTH_TOKEN": "t", "ANTHROPIC_API_KEY": "k"}
    token = found("claude-code", environ)
    assert token is not None
    assert (token.by_token, token.variables) == (False, {"CLAUDE_CODE_OAUTH_TOKEN": "t"})
    store = found("claude-code", home | {"ANTHROPIC_API_KEY": "k"})
    assert store is not None
    assert not store.by_token
    assert store.variables == {}
    place = tmp_path / ".claude/.credentials.json"
    assert store.shares == {".claude/.credentials.json": place}
    assert str(place) in store.words
    key = found("claude-code", environ, "claude-code")
    assert key is not None
    assert (key.by_token, key.variables, key.shares) == (True, {"ANTHROPIC_API_KEY": "k"}, {})


def test_a_store_may_lie_elsewhere(tmp_path: Path) -> None:
    stored(tmp_path, "own/auth.json", CHATGPT)
    account = found("codex", {"HOME": "/nowhere", "CODEX_HOME": str(tmp_path / "own")})
    assert account is not None
    assert account.shares == {".codex/auth.json": tmp_path / "own/auth.json"}


@pytest.mark.parametrize(("document", "by_token"), [(CHATGPT, False), (BY_KEY, True)])
def test_a_login_by_key_costs_dollars(tmp_path: Path, document: Any, by_token: bool) -> None:
    account = found("codex", stored(tmp_path, ".codex/auth.json", document))
    assert account is not None
    assert account.by_token is by_token


def test_what_is_wrong_is_told() -> None:
    settings = Settings.model_validate({"agent_keys": ["codex"]})
    what, remedy = no_account(ROWS["codex"], settings)
    assert "OPENAI_API_KEY or CODEX_API_KEY is not set" in what
    assert remedy.startswith("export ")
    what, remedy = no_account(ROWS["claude-code"], Settings())
    assert (what, "claude setup-token" in remedy, "agent_keys" in remedy) == (
        "claude-code is not logged in",
        True,
        True,
    )
    assert found("aider", {"ANTHROPIC_API_KEY": "k"}) is None


def test_who_shares_a_login_takes_turns(tmp_path: Path) -> None:
    account = Account("me", by_token=False, shares={".x": tmp_path / "login"})
    at_work, most = [0], [0]

    def work() -> None:
        with one_at_a_time(account, StopToken()):
            at_work[0] += 1
            most[0] = max(most[0], at_work[0])
            time.sleep(0.05)
            at_work[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]


def test_a_stop_is_heard_while_waiting_for_a_turn(tmp_path: Path) -> None:
    account = Account("me", by_token=False, shares={".x": tmp_path / "login"})
    stop = StopToken()
    with one_at_a_time(account, StopToken()):
        threading.Timer(0.3, stop.set).start()
        began = time.monotonic()
        with pytest.raises(Stopped), one_at_a_time(account, stop):
            pass
        assert time.monotonic() - began < 5
