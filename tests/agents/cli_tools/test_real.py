"""The real Claude Code and Codex, from npm, against servers on this machine."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from selfimprove.agents.base import AgentFailure, Workspace
from selfimprove.agents.cli_tools.probing import WORD
from selfimprove.agents.registry import make_agent
from selfimprove.contracts.agent import AgentRequest
from selfimprove.contracts.settings import Settings
from selfimprove.errors import ConfigError
from selfimprove.names import role_of
from selfimprove.setup.checks import probe_agent
from selfimprove.testing import a_request
from selfimprove.testing.documents import ANSWERS, a_plan
from selfimprove.testing.models import ModelServer, Prices, Refuse, Say, ToolCall, Turn
from selfimprove.testing.models.brains import section, who
from selfimprove.testing.models.server import KEY, MODEL
from selfimprove.testing.rehearsal import Rehearsal
from selfimprove.testing.workspaces import make_workspace

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

Stage = Callable[..., Rehearsal]
ROLES = ("researcher", "planner", "architect", "critic", "executor")
PRICES = Prices(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75)
PRICE = {"input": 3.0, "output": 15.0, "cache_read": 0.3, "cache_write": 3.75}
CLAUDE, CODEX = f"claude-code:{MODEL}", f"codex:{MODEL}"


def answered(turn: Turn, answer: dict[str, Any]) -> Say:
    """Answer as each CLI wants it: by its tool for answers, or in words."""
    if "StructuredOutput" in turn.tools:
        return Say(calls=(ToolCall("StructuredOutput", answer),))
    return Say(json.dumps(answer))


def looking(turn: Turn, path: str) -> Say:
    if "Read" in turn.tools:
        return Say("I look.", (ToolCall("Read", {"file_path": str(top(turn) / path)}),))
    return Say("I look.", (ToolCall("exec_command", {"cmd": f"cat {path}"}),))


def writing(turn: Turn, path: str, text: str) -> Say:
    if "Write" in turn.tools and not turn.done:  # it must have read what it writes over
        return looking(turn, path)
    if "Write" in turn.tools:
        place = str(top(turn) / path)
        return Say(calls=(ToolCall("Write", {"file_path": place, "content": text}),))
    return Say(calls=(ToolCall("exec_command", {"cmd": f"printf '{text}' > {path}"}),))


def top(turn: Turn) -> Path:
    """Where the tree stands in the room, which Claude Code's tools have to be told."""
    return Path(os.environ["TOP_FOR_TESTS"])


def brain(turn: Turn) -> Say:
    name = who(turn)
    role = role_of(name)
    if not name:
        return Say("ready")
    if role == "planner":
        if not turn.done:
            return looking(turn, "src/a")
        now = int(re.findall(r"\b\d\d\b", turn.done[0].result or "")[-1])
        family = section(turn, "Families you may choose from")[0]
        change = f"set the number to {now - 3}"
        return answered(turn, a_plan("src/a", change, family=family))
    if role == "executor":
        number = section(turn, "The plan")["steps"][0]["change"].rsplit(" ", 1)[1]
        wrote = any(call.name == "Write" or "printf" in str(call.arguments) for call in turn.done)
        if not wrote:
            return writing(turn, "src/a", f"{number}\n")
        return answered(turn, {"summary": "the number is set"})
    return answered(turn, ANSWERS[role])  # type: ignore[index]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, installed: Path) -> Iterator[ModelServer]:
    with ModelServer(brain, prices=PRICES) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("CLAUDE_CODE_OAUTH_TOKEN", KEY)
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        yield server


@pytest.mark.parametrize(
    ("spec", "keys"),
    [(CLAUDE, []), (CLAUDE, ["claude-code"]), (CODEX, ["codex"])],
    ids=["claude-code by its login", "claude-code by a key", "codex by a key"],
)
def test_a_whole_run_wins_and_is_counted(
    stage: Stage,
    server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
    spec: str,
    keys: list[str],
) -> None:
    settings: dict[str, Any] = {f"agents.{role}": spec for role in ROLES}
    settings |= {
        "agent_keys": keys,
        "prices": {MODEL: PRICE},
        "sandbox.mode": "auto",
        "agent_wait": 0,
    }
    play = stage(settings=settings | {"number_of_agents": 1})
    monkeypatch.setenv("TOP_FOR_TESTS", str(play.repository.path))
    outcome = play.run(max_iterations=1)

    report = play.document("state/merge_reports/round_1.json")
    assert report["status"] == "merged", report
    assert outcome.state.wins_total == 1
    totals, ledger = play.document("state/run.json")["totals"], server.ledger
    assert totals["input_tokens"] == ledger.input_tokens
    assert totals["output_tokens"] == ledger.output_tokens
    assert totals.get("cache_read_tokens", 0) == ledger.cache_read_tokens > 0
    assert totals["usd"] == pytest.approx(ledger.usd if keys else 0.0)
    assert totals["calls"] == 6  # the five roles, and the word that was asked first
    asked = [turn for turn, _ in ledger.turns]
    assert [turn.prompt for turn in asked if WORD in turn.prompt] != []
    assert {role_of(who(turn)) for turn in asked} == {"", *ROLES}


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: Path) -> Workspace:
    files = {"src/a": "30\n", "CLAUDE.md": "PLANTED\n", "AGENTS.md": "PLANTED\n"}
    space = make_workspace(tmp_path / "space", files, timeout=60)
    monkeypatch.setenv("TOP_FOR_TESTS", str(space.room.spec.target_top))
    return space


def asked(spec: str, workspace: Workspace, role: str = "critic", **settings: Any) -> Any:
    request: AgentRequest = a_request(role)  # type: ignore[arg-type]
    prompt = f"Round 1; you are {request.agent_id}.\n"
    agent = make_agent(spec, Settings.model_validate(settings))
    return agent.ask(request.model_copy(update={"prompt": prompt}), workspace)


BOTH = pytest.mark.parametrize(
    ("spec", "keys"), [(CLAUDE, []), (CODEX, ["codex"])], ids=["claude-code", "codex"]
)


@BOTH
def test_the_project_s_own_instructions_are_not_read(
    server: ModelServer, workspace: Workspace, spec: str, keys: list[str]
) -> None:
    seen: list[str] = []
    server.heard = seen.append
    asked(spec, replace(workspace, writable=False), agent_keys=keys)
    assert seen
    assert [body for body in seen if "PLANTED" in body] == []


@BOTH
def test_readers_change_nothing(
    server: ModelServer, workspace: Workspace, spec: str, keys: list[str]
) -> None:
    if spec == CODEX and workspace.room.level not in ("bubblewrap", "landlock"):
        pytest.skip("nothing holds its commands here, as docs/agents.md says")

    def vandal(turn: Turn) -> Say:
        if turn.turn < 2:
            return writing(turn, "src/a", "99\n")
        return answered(turn, ANSWERS["critic"])

    server.brain = vandal
    asked(spec, replace(workspace, writable=False), agent_keys=keys)
    assert (workspace.tree / "src/a").read_text() == "30\n"


def test_claude_code_shares_the_login_in_its_store(
    server: ModelServer, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CLAUDE_CODE_OAUTH_TOKEN")
    tokens = {"accessToken": KEY, "refreshToken": "r", "expiresAt": 4102444800000}
    tokens |= {"scopes": ["user:inference", "user:profile"], "subscriptionType": "max"}
    store = Path(os.environ["HOME"]) / ".claude/.credentials.json"
    store.parent.mkdir()
    store.write_text(json.dumps({"claudeAiOauth": tokens}))
    reply = asked(CLAUDE, replace(workspace, writable=False))
    assert reply.output["score"] == 1.0
    assert reply.usage.usd == 0
    if workspace.room.level == "bubblewrap":
        assert [path.name for path in store.parent.iterdir()] == [".credentials.json"]


def test_opencode_reads_edits_and_is_counted(
    server: ModelServer, opencode: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = "claude-haiku-4-5"
    server.models = (model,)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", f"{server.url}/v1")  # as it wants it told
    place = str(workspace.room.spec.target_top / "src/a")

    def editing(turn: Turn) -> Say:
        if "executor" in who(turn) and len(turn.done) < 2:
            change = {"filePath": place, "oldString": "30", "newString": "27"}
            read = ToolCall("read", {"filePath": place})
            return Say("I edit.", (ToolCall("edit", change) if turn.done else read,))
        seen.append(turn.tools)
        return answered(turn, ANSWERS[role_of(who(turn))])  # type: ignore[index]

    seen: list[tuple[str, ...]] = []
    server.brain = editing
    given = {"agent_keys": ["opencode"], "prices": {f"anthropic/{model}": PRICE}}
    readers = replace(workspace, writable=False)
    usages = [asked(f"opencode:anthropic/{model}", readers, **given).usage]
    assert not {"edit", "write", "bash"} & set(seen[0])
    editors = replace(workspace, writable=True)
    usages += [asked(f"opencode:anthropic/{model}", editors, "executor", **given).usage]
    assert (workspace.tree / "src/a").read_text() == "27\n"
    assert sum(each.input_tokens for each in usages) == server.ledger.input_tokens
    assert sum(each.output_tokens for each in usages) == server.ledger.output_tokens
    assert sum(each.usd for each in usages) == pytest.approx(server.ledger.usd)


def test_codex_shares_the_login_in_its_store(server: ModelServer, workspace: Workspace) -> None:
    store = Path(os.environ["HOME"]) / ".codex/auth.json"
    store.parent.mkdir()
    store.write_text(json.dumps({"auth_mode": "apikey", "OPENAI_API_KEY": KEY}))
    reply = asked(CODEX, replace(workspace, writable=False), prices={MODEL: PRICE})
    assert reply.output["score"] == 1.0
    assert reply.usage.usd == pytest.approx(server.ledger.usd)
    if workspace.room.level == "bubblewrap":
        assert [path.name for path in store.parent.iterdir()] == ["auth.json"]


@pytest.mark.parametrize(
    ("spec", "token", "told"),
    [
        (CLAUDE, "other", "the login is refused"),
        ("claude-code:claude-nope-9", KEY, "claude-nope-9"),
        (CLAUDE, "", "claude-code is not logged in"),
        ("codex:gpt-nope", KEY, "gpt-nope"),
        (CODEX, "other", "the login is refused"),
        (CODEX, "", "OPENAI_API_KEY or CODEX_API_KEY is not set"),
    ],
)
def test_a_bad_login_or_model_is_told_within_seconds(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch, spec: str, token: str, told: str
) -> None:
    for name in ("CLAUDE_CODE_OAUTH_TOKEN", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, token)
    began = time.monotonic()
    with pytest.raises(ConfigError, match=re.escape(told)):
        probe_agent(spec, Settings.model_validate({"agent_keys": ["codex"]}))
    assert time.monotonic() - began < 45
    assert server.ledger.calls == 0


def test_limits_and_outages_are_waited_for(server: ModelServer, workspace: Workspace) -> None:
    until = str(int(time.time()) + 7200)
    headers = {"anthropic-ratelimit-unified-status": "rejected"}
    headers |= {"anthropic-ratelimit-unified-reset": until}
    server.trouble = lambda _: Refuse(429, headers, "rate_limit_error", "over your limit")
    with pytest.raises(AgentFailure) as caught:
        asked(CLAUDE, workspace)
    assert caught.value.kind == "unreachable"
    assert caught.value.retry_after == pytest.approx(7200, abs=120)
    for spec in (CLAUDE, CODEX):
        server.trouble = lambda _: Refuse(503, kind="overloaded_error", message="overloaded")
        with pytest.raises(AgentFailure) as caught:
            asked(spec, workspace, agent_keys=["codex"])
        assert caught.value.kind == "unreachable", caught.value
