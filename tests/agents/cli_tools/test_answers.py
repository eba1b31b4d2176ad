"""What coding CLIs print, understood: answers, tokens, and why there is no answer."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from selfimprove.agents.base import AgentFailure, Workspace
from selfimprove.agents.cli_tools.claude_code import read
from selfimprove.agents.cli_tools.row import NO_RESULT
from selfimprove.agents.llm.prices import Tokens
from selfimprove.agents.registry import make_agent
from selfimprove.contracts.agent import AgentReply
from selfimprove.contracts.settings import Settings
from selfimprove.testing import a_request
from selfimprove.testing.coding_clis import PROGRAMS, TARGET, write_program
from selfimprove.testing.workspaces import make_workspace

KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY")
Ask = Callable[..., AgentReply]


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    for kind in PROGRAMS:
        write_program(tmp_path / "bin", kind)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    for name in KEYS:
        monkeypatch.setenv(name, f"secret {name}")
    return make_workspace(tmp_path / "space", {TARGET: "LIMIT = 1000\n"}, timeout=20)


@pytest.fixture
def ask(workspace: Workspace) -> Ask:
    def asked(spec: str, role: str = "critic", told: str = "", **settings: Any) -> AgentReply:
        given = {"agent_keys": list(PROGRAMS), **settings}
        request = a_request(role)  # type: ignore[arg-type]
        prompt = f"Round 1; you are {request.agent_id}.\n{told}"
        agent = make_agent(spec, Settings.model_validate(given))
        own = replace(workspace, writable=role == "executor")
        return agent.ask(request.model_copy(update={"prompt": prompt}), own)

    return asked


@pytest.mark.parametrize("kind", PROGRAMS)
def test_tokens_are_counted_and_dollars_are_ours(ask: Ask, kind: str) -> None:
    price = {"input": 1.0, "output": 10.0, "cache_read": 0.1, "cache_write": 2.0}
    model = {"claude-code": "claude-haiku-5-5", "gemini": "gemini-9"}.get(kind, "some/model-1")
    usage = ask(f"{kind}:{model}", prices={model: price}).usage
    assert (usage.input_tokens, usage.output_tokens) == (110, 7)
    assert usage.cache_read_tokens == 80
    wrote = usage.cache_write_tokens or 0
    fresh = 110 - 80 - wrote
    assert usage.usd == pytest.approx((fresh + 8 + 2 * wrote + 70) / 1e6)
    assert usage.calls is None


@pytest.mark.parametrize("kind", PROGRAMS)
@pytest.mark.parametrize(
    ("trouble", "failure"),
    [
        ("limit", "unreachable"),
        ("down", "unreachable"),
        ("login", "unreachable"),
        ("model", "exit"),
        ("words", "output"),
        ("silent", "exit"),
        ("crash", "exit"),
    ],
)
def test_what_keeps_it_from_answering(ask: Ask, kind: str, trouble: str, failure: str) -> None:
    with pytest.raises(AgentFailure) as caught:
        ask(kind, told=f"trouble: {trouble}")
    assert caught.value.kind == failure, caught.value
    assert caught.value.message.startswith(f"critic_1 ({kind})")
    assert "\n" not in caught.value.message
    if trouble == "silent":
        assert "exited with 3: I have no time" in caught.value.message
    if trouble == "words":
        assert caught.value.usage is not None
        assert caught.value.usage.input_tokens == 110


def test_what_a_call_read_is_known_though_it_was_cut_short() -> None:
    used = {"input_tokens": 3, "cache_read_input_tokens": 5, "output_tokens": 1}
    message = {"id": "m1", "model": "m", "content": [{"type": "text", "text": "I"}], "usage": used}
    lines = [{"type": "assistant", "message": message}] * 2  # a message comes block by block
    lines.append({"type": "assistant", "message": message | {"id": "m2"}})
    said = read("\n".join(map(json.dumps, lines)).encode() + b'\n{"type": "resu')
    assert said.error == NO_RESULT
    assert said.tokens == {"m": Tokens(16, 2, 10)}


def test_the_end_of_a_limit_is_told(ask: Ask) -> None:
    with pytest.raises(AgentFailure) as caught:
        ask("claude-code", told="trouble: limit")
    assert caught.value.retry_after == pytest.approx(100, abs=30)


def test_a_subscription_costs_no_dollars(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, workspace: Workspace
) -> None:
    monkeypatch.setenv("CLAUDE_CODE_OAUTH_TOKEN", "token")
    reply = ask("claude-code:claude-haiku-5-5", agent_keys=[])
    assert reply.usage.usd == 0
    assert reply.usage.tokens == 117


@pytest.mark.parametrize(
    ("kind", "own"),
    [
        ("claude-code", {"ANTHROPIC_API_KEY": "secret ANTHROPIC_API_KEY"}),
        ("codex", {"CODEX_API_KEY": "secret OPENAI_API_KEY"}),
        ("gemini", {"GEMINI_API_KEY": "secret GEMINI_API_KEY"}),
        ("opencode", {name: f"secret {name}" for name in KEYS[:2]}),
        ("aider", {name: f"secret {name}" for name in KEYS}),
    ],
)
def test_it_is_given_its_own_key_alone(
    ask: Ask, kind: str, own: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "secret of another")
    env = ask(kind, "executor").output["env"]
    assert {name: value for name, value in env.items() if "secret" in value} == own


def test_without_being_asked_for_no_key_is_given(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CODE_OAUTH_TOKEN", "token")
    env = ask("claude-code", "executor", agent_keys=[]).output["env"]
    assert env["CLAUDE_CODE_OAUTH_TOKEN"] == "token"
    assert not set(KEYS) & set(env)


@pytest.mark.parametrize("kind", PROGRAMS)
def test_nobody_logged_in_is_waited_for(ask: Ask, kind: str) -> None:
    with pytest.raises(AgentFailure) as caught:
        ask(kind, agent_keys=[])
    assert caught.value.kind == "unreachable"


def test_executors_of_claude_code_run_what_is_allowed(ask: Ask) -> None:
    given = {"guards": [{"name": "tests", "command": "pytest -q"}], "agent_commands": ["make x"]}
    argv = ask("claude-code", "executor", **given).output["argv"]
    assert argv[argv.index("--tools") + 1] == "Read,Glob,Grep,Edit,Write,Bash"
    assert {"Bash(pytest -q)", "Bash(make x)"} < set(argv[argv.index("--allowedTools") :])
    alone = ask("claude-code", "executor").output["argv"]
    assert alone[alone.index("--tools") + 1] == "Read,Glob,Grep,Edit,Write"
    assert argv[argv.index("--session-id") + 1] == alone[alone.index("--session-id") + 1]
