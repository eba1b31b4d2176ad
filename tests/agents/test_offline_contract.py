"""The offline agent, held to the protocol."""

from __future__ import annotations

from pathlib import Path

from selfimprove.agents.base import Agent
from selfimprove.agents.registry import make_agent
from selfimprove.contracts.settings import Settings
from selfimprove.testing.contract import AgentContract


class TestOffline(AgentContract):
    quick = 15.0

    def make_agent(self, folder: Path) -> Agent:
        return make_agent("offline", Settings())
