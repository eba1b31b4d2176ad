"""Hostile texts are data: they change no gate, no permission, and no other agent's instructions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from selfimprove.agents.llm.toolbox import allowed, tools_for
from selfimprove.agents.prompts import NEEDED, Question, render
from selfimprove.contracts.agent import AgentRequest
from selfimprove.contracts.critique import CriticReply, RuleVerdict
from selfimprove.contracts.plan import ArchitectReview, Plan
from selfimprove.contracts.settings import GateSettings, Settings
from selfimprove.review.gate_facts import Case
from selfimprove.review.gates import decide, decide_change
from selfimprove.testing import a_plan, a_request
from selfimprove.testing.hostile import HOSTILE
from selfimprove.testing.rehearsal import Rehearsal, lower_each_round
from selfimprove.testing.workspaces import make_workspace

CALM = "nothing in particular"
WHOLE_RUN = "\n".join(text for text in HOSTILE if len(text) < 1000)
LONGEST = 140_000
"""Characters of any prompt, whatever it is made of."""


def skeleton(prompt: str) -> str:
    """What a prompt says outside its fences: all that an agent is to take as instructions."""
    return re.sub(r"^(`{3,})\w*\n.*?\n\1$", "[data]", prompt, flags=re.M | re.S)


def everywhere(text: str) -> dict[str, Any]:
    """A context with a text in every place that agents, benchmarks or repositories fill."""
    loser = {"hypothesis": text, "failure_analysis": {"what": text, "lesson": text}}
    plan = a_plan("src/a.py", text, hypothesis=text)
    return {
        "goal": {"objective": text, "scope": {"in_scope": [text]}},
        "history": [{"iteration": 1, "losers": [loser]}],
        "lessons": [{"family": text, "latest_dead_ends": [{"hypothesis": text}]}],
        "brief": {"repo_analysis_summary": text, "ideas": [{"evidence": text}]},
        "plan": plan,
        "plans": [plan],
        "nearest": [{"hypothesis": text, "target_files": [text]}],
        "ideas": [text],
        "profile": text,
        "family": [text],
        "files": [text],
        "feedback": [text, {"issues": [text], "guard": text}],
        "change": {"files": [text], "summary": text, "diff": text},
        "found": [{"kind": text, "what": text, "why": text}],
        "answers": [{"question": text, "answer": text}],
        "left": 3,
    }


@pytest.mark.parametrize("number", range(len(HOSTILE)))
@pytest.mark.parametrize("role", list(NEEDED))
def test_no_text_gets_out_of_its_fence(role: Any, number: int) -> None:
    def asked(text: str) -> str:
        return render(Question(role, 1, f"{role}_1", "run/round_1/x", everywhere(text)))

    prompt = asked(HOSTILE[number])
    assert skeleton(prompt) == skeleton(asked(CALM))
    assert len(prompt) < LONGEST


GATES = (
    Settings(),
    Settings(gate_policy="weighted_threshold"),
    Settings(gate_policy="domain_specific", gate=GateSettings(expression="score >= 0.9")),
)


@pytest.mark.parametrize("settings", GATES, ids=lambda settings: settings.gate_policy)
@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_no_text_moves_a_gate(number: int, settings: Settings) -> None:
    owned = {"plan_id": "round_1_planner_a", "planner_id": "planner_a", "round": 1}
    passed = [RuleVerdict(rule="schema", passed=True)]

    def decided(text: str, turn: int) -> list[tuple[str, dict[str, Any]]]:
        reply = CriticReply(score=0.3, issues=[text], summary=text)
        plan = Plan.parse(a_plan("src/a.py", "set it", hypothesis=text) | owned, "plan")
        case = Case(plan, [reply], ArchitectReview(verdict="approve", feedback=text), turn)
        _, gate = decide(passed, case, settings)
        change = decide_change([reply], turn, settings)
        return [(each.decision, each.next_action) for each in (gate, change)]

    for turn, decision in ((1, "retry"), (3, "reject")):
        found = decided(HOSTILE[number], turn)
        assert found == decided(CALM, turn)
        assert [each[0] for each in found] == [decision] * 2


@pytest.mark.parametrize("role", list(NEEDED))
def test_no_text_gives_a_tool_or_a_command(role: Any, tmp_path: Path) -> None:
    settings = Settings(agent_commands=["make check"])
    space = make_workspace(tmp_path, {"a": "1\n"}, writable=role == "executor")

    def tools(text: str) -> list[str]:
        request = a_request(role, **everywhere(text))
        return sorted(tool.name for tool in tools_for(request, space, settings, 0.0))

    before = allowed(settings)
    assert {tuple(tools(text)) for text in HOSTILE} == {tuple(tools(CALM))}
    assert allowed(settings) == before
    assert ("run" in tools(CALM)) == (role == "executor")


def played(play: Rehearsal, seen: dict[str, str]) -> Iterator[str]:
    """The skeletons of all prompts of two rounds, by who was asked."""
    play.run(max_iterations=2)
    yield from (f"{name}\n{text}" for name, text in sorted(seen.items()))


@pytest.mark.long
def test_a_whole_run_among_hostile_texts_asks_as_one_without(
    stage: Callable[..., Rehearsal],
) -> None:
    def run(text: str) -> tuple[list[str], Rehearsal]:
        seen: dict[str, str] = {}

        def heard(part: Any) -> Callable[[AgentRequest, Path], Any]:
            def answer(request: AgentRequest, tree: Path) -> Any:
                seen[request.session_id.split("/", 1)[1]] = skeleton(request.prompt)
                return part(request, tree) if callable(part) else part

            return answer

        def planner(request: AgentRequest, tree: Path) -> dict[str, Any]:
            plan = lower_each_round(request, tree)
            plan["expected_outcome"]["rationale"] = text
            return plan

        play = stage(
            files={"README.md": text},
            score='printf "%s\\n" "$(cat README.md)" >&2\nprintf \'{"score": %d}\\n\' $sum\n',
            researcher=heard({"repo_analysis_summary": text, "ideas": []}),
            planner=heard(planner),
            architect=heard({"verdict": "approve", "feedback": text}),
            critic=heard({"score": 0.95, "issues": [text], "summary": text}),
        )
        return list(played(play, seen)), play

    hostile, play = run(WHOLE_RUN)
    calm, other = run(CALM)
    assert hostile == calm
    for number in (1, 2):
        gates, others = (
            [
                line["payload"]["decision"]
                for line in each.lines(number)
                if line["payload"].get("event") == "gate"
            ]
            for each in (play, other)
        )
        assert gates == others != []
