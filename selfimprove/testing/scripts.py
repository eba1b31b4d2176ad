"""Builds scripted agents: what each role answers, round by round, without any state.

    agent = script(
        planner=[a_plan("src/a.py"), [a_plan("src/a.py"), a_plan("src/b.py", family="data")]],
        executor=edits({"src/a.py": "LIMIT = 10\\n"}),
    )

A role is given one reply for every round, or a list with one for each round, of which the last
stands for all that follow. A reply is an answer, a function, an AgentFailure to raise, or, where
several agents have the role, a list with one for each of them. Nothing is used up, so that a run
that was stopped and resumed is told the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from selfimprove.agents.base import AgentFailure, FailureKind
from selfimprove.agents.scripted import Script, ScriptedAgent
from selfimprove.contracts.agent import AgentRequest
from selfimprove.testing.documents import ANSWERS

Reply = dict[str, Any] | Script | AgentFailure


def script(spec: str = "scripted", **roles: Any) -> ScriptedAgent:
    """Build an agent for every role; one that is not given approves, or does nothing."""
    replies = {name.replace("_", "-"): given for name, given in roles.items()}

    def answer(request: AgentRequest, tree: Path) -> dict[str, Any]:
        reply = _reply(replies.get(request.role, ANSWERS.get(request.role)), request)
        if reply is None:
            missing = f"the script has no reply for {request.agent_id} in round {request.round}"
            raise AgentFailure("output", missing)
        if isinstance(reply, AgentFailure):
            raise AgentFailure(reply.kind, reply.message)
        return reply(request, tree) if callable(reply) else reply

    return ScriptedAgent(answer, spec)


def _reply(given: Any, request: AgentRequest) -> Reply | None:
    """Pick the reply of this round and this agent."""
    by_round = given if isinstance(given, list) else [given]
    reply = by_round[min(request.round, len(by_round)) - 1] if by_round else None
    if isinstance(reply, list):
        place = position(request.agent_id)
        reply = reply[place] if place < len(reply) else None
    picked: Reply | None = reply
    return picked


def position(agent_id: str) -> int:
    """Give which of its role an agent is: planner_b and executor_2 are 1, the researcher is 0."""
    last = re.search(r"_([a-z]|\d+)$", agent_id)
    if last is None:
        return 0
    return int(last[1]) - 1 if last[1].isdigit() else ord(last[1]) - ord("a")


def edits(
    files: Mapping[str, str | None], summary: str = "edited"
) -> Callable[[AgentRequest, Path], dict[str, Any]]:
    """Give an executor's reply that writes these files into its tree; None deletes one."""

    def edit(_request: AgentRequest, tree: Path) -> dict[str, Any]:
        for name, text in files.items():
            place = tree / name
            if text is None:
                place.unlink()
            else:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(text, encoding="utf-8")
        return {"summary": summary}

    return edit


def failing(kind: FailureKind = "exit", message: str = "it failed, as scripted") -> AgentFailure:
    """Give a reply that is a failure."""
    return AgentFailure(kind, message)
