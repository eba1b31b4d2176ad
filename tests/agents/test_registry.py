from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from selfimprove.agents.command import CommandAgent
from selfimprove.agents.registry import AGENTS, USAGE, make_agent, specs_for
from selfimprove.agents.scripted import ScriptedAgent
from selfimprove.contracts.agent import AgentRequest
from selfimprove.contracts.settings import Settings
from selfimprove.errors import ConfigError


def answer(_request: AgentRequest, _tree: Path) -> dict[str, Any]:
    return {"summary": "said"}


def test_a_command_keeps_its_words() -> None:
    agent = make_agent("command:./agent.py --url=http://a:1 'b c'", Settings())
    assert isinstance(agent, CommandAgent)
    assert agent.command == "./agent.py --url=http://a:1 'b c'"
    assert agent.spec == "command:./agent.py --url=http://a:1 'b c'"


@pytest.mark.parametrize("spec", ["", "offlin", "psychic:model"])
def test_an_unknown_agent_is_answered_with_the_known_ones(spec: str) -> None:
    with pytest.raises(ConfigError, match=r"command:SHELL WORDS, gemini\[:MODEL\], offline"):
        make_agent(spec, Settings())


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("anthropic", "write anthropic:MODEL"),
        ("openai:a model", "names no model"),
        ("openai-compatible:llama", "write openai-compatible:MODEL@http"),
        ("openai-compatible:llama@http://me:secret@host/v1", "put the key into OPENAI_COMPAT"),
    ],
)
def test_a_model_that_is_not_named_whole_is_told_how(spec: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        make_agent(spec, Settings())


@pytest.mark.parametrize(
    "spec",
    ["anthropic:claude-x", "openai:gpt-x", "openai-compatible:org/llama:8b@http://127.0.0.1:1/v1"],
)
def test_a_model_is_written_as_it_was(spec: str) -> None:
    assert make_agent(spec, Settings()).spec == spec


def test_every_agent_says_how_it_is_written() -> None:
    assert AGENTS.keys() == USAGE.keys()


def test_a_script_is_named_by_its_function() -> None:
    agent = make_agent(f"scripted:{__name__}:answer", Settings())
    assert isinstance(agent, ScriptedAgent)
    assert agent.function is answer
    for wrong in ("scripted:", "scripted:no_such_module:f", f"scripted:{__name__}:no_such"):
        with pytest.raises(ConfigError, match="MODULE:FUNCTION"):
            make_agent(wrong, Settings())


def test_specs_go_round() -> None:
    settings = Settings(agents={"planner": ["offline", "command:x"], "critic": "command:y"})
    assert specs_for(settings, "planner", 3) == ["offline", "command:x", "offline"]
    assert specs_for(settings, "critic", 2) == ["command:y", "command:y"]
    assert specs_for(settings, "executor") == ["offline"]
