"""The agents that need no network, held to the protocol."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import Any

from selfimprove.agents.base import Agent
from selfimprove.agents.command import CommandAgent
from selfimprove.agents.scripted import ScriptedAgent
from selfimprove.contracts.agent import AgentRequest
from selfimprove.contracts.settings import Settings
from selfimprove.testing import a_plan, edits, script
from selfimprove.testing.contract import TARGET, AgentContract

PROGRAM = """\
import json, os, pathlib, sys
request = json.load(sys.stdin)
print("thinking about {", request["role"], "}")
answers = {
    "researcher": {"repo_analysis_summary": "words", "ideas": []},
    "planner": %s,
    "architect": {"verdict": "approve"},
    "critic": {"score": 1.0},
    "executor": {"summary": "lowered the limit"},
}
if request["role"] == "executor":
    path = pathlib.Path("src/work.py")
    path.write_text(path.read_text().replace("1000", "500"))
print(json.dumps(answers[request["role"]]))
"""


class TestScripted(AgentContract):
    def make_agent(self, folder: Path) -> Agent:
        return script(planner=a_plan(TARGET), executor=edits({TARGET: "LIMIT = 500\n"}))

    def make_slow_agent(self, folder: Path) -> Agent:
        def slow(_request: AgentRequest, _tree: Path) -> dict[str, Any]:
            time.sleep(0.5)
            return {"repo_analysis_summary": "", "ideas": []}

        return ScriptedAgent(slow)


class TestCommand(AgentContract):
    def make_agent(self, folder: Path) -> Agent:
        program = folder / "agent.py"
        program.write_text(PROGRAM % repr(a_plan(TARGET)))
        words = f"{shlex.quote(sys.executable)} {shlex.quote(str(program))}"
        return CommandAgent(words, Settings())

    def make_slow_agent(self, folder: Path) -> Agent:
        return CommandAgent("trap '' TERM; sleep 20", Settings())
