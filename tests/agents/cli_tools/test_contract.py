"""Every coding CLI, played by a small program, held to the suite that every agent passes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from selfimprove.agents.base import Agent
from selfimprove.agents.registry import make_agent
from selfimprove.contracts.agent import AgentRequest, AgentRole
from selfimprove.contracts.settings import Settings
from selfimprove.testing.coding_clis import write_program
from selfimprove.testing.contract import AgentContract


class CliContract(AgentContract):
    kind = ""

    @pytest.fixture(autouse=True)
    def _installed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        folder = write_program(tmp_path / "bin", self.kind)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"):
            monkeypatch.setenv(name, "key")
        self.prompt = "Round 1; you are {who}."

    def make_agent(self, folder: Path) -> Agent:
        return make_agent(self.kind, Settings.model_validate({"agent_keys": [self.kind]}))

    def make_slow_agent(self, folder: Path) -> Agent:
        self.prompt = "Round 1; you are {who}.\ntrouble: slow"
        return self.make_agent(folder)

    def make_request(self, role: AgentRole) -> AgentRequest:
        request = super().make_request(role)
        told = {"prompt": self.prompt.format(who=request.agent_id)}
        return request.model_copy(update=told)


class TestClaudeCode(CliContract):
    kind = "claude-code"


class TestCodex(CliContract):
    kind = "codex"


class TestGemini(CliContract):
    kind = "gemini"


class TestOpenCode(CliContract):
    kind = "opencode"


class TestAider(CliContract):
    kind = "aider"
