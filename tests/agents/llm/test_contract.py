"""Models over both protocols, held to the suite that every agent passes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from selfimprove.agents.base import Agent
from selfimprove.agents.llm.models import load
from selfimprove.agents.llm.names import parse_name
from selfimprove.agents.registry import make_agent
from selfimprove.contracts.agent import AgentRequest, AgentRole
from selfimprove.contracts.settings import Settings
from selfimprove.testing import a_plan
from selfimprove.testing.contract import TARGET, AgentContract
from selfimprove.testing.models import Hang, Say, Turn
from selfimprove.testing.models.brains import answering, calling, playing
from selfimprove.testing.models.server import MODEL

from .conftest import Serve


def researcher(turn: Turn, _who: str) -> Say:
    steps = [
        calling("list_files"),
        calling("search", pattern="LIMIT"),
        calling("read", path=TARGET),
    ]
    if turn.turn < len(steps):
        return steps[turn.turn]
    return answering({"repo_analysis_summary": turn.done[-1].result or "", "ideas": []})


def executor(turn: Turn, _who: str) -> Say:
    if not turn.done:
        return calling("replace", path=TARGET, old="LIMIT = 1000", new="LIMIT = 500")
    return answering({"summary": "lowered the limit"})


BRAIN = playing(researcher=researcher, planner=a_plan(TARGET), executor=executor)


class ModelContract(AgentContract):
    spec = ""

    @pytest.fixture(autouse=True)
    def _serve(self, serve: Serve) -> None:
        self.serve = serve
        load(parse_name(self.spec.partition(":")[0], "m@http://here"))  # seconds, once

    def make_agent(self, folder: Path) -> Agent:
        return self.built(self.serve(BRAIN).url)

    def make_slow_agent(self, folder: Path) -> Agent:
        return self.built(self.serve(BRAIN, trouble=lambda _: Hang(20)).url)

    def built(self, url: str) -> Agent:
        return make_agent(self.spec.format(url=url), Settings())

    def make_request(self, role: AgentRole) -> AgentRequest:
        request = super().make_request(role)
        return request.model_copy(update={"prompt": f"Round 1; you are {request.agent_id}."})

    def documents(self, role: AgentRole) -> dict[str, Any]:
        found = super().documents(role)
        return (
            {**found, "plan": {**found["plan"], "target_files": [TARGET]}}
            if "plan" in found
            else found
        )


class TestAnthropic(ModelContract):
    spec = f"anthropic:{MODEL}"


@pytest.mark.long
class TestOpenAi(ModelContract):
    spec = f"openai:{MODEL}"


class TestCompatible(ModelContract):
    spec = f"openai-compatible:{MODEL}@{{url}}/v1"
