"""Documents that fit their contracts, to vary in tests."""

from __future__ import annotations

import json
from typing import Any

from selfimprove.agents.schemas import output_schema
from selfimprove.contracts.agent import AgentRequest, AgentRole

ANSWERS: dict[AgentRole, dict[str, Any]] = {
    "researcher": {"repo_analysis_summary": "nothing looked at", "ideas": []},
    "architect": {"verdict": "approve"},
    "critic": {"score": 1.0},
    "executor": {"summary": "changed nothing"},
    "goal-clarifier": {
        "scores": {
            name: {"score": 90, "evidence": "it was said"}
            for name in ("objective", "metric", "target", "scope")
        },
        "goal": {},
    },
    "benchmark-builder": {"summary": "built nothing", "command": "true"},
}
"""What a scripted role answers where a test does not care; planners have to be told."""


def a_plan(
    target: str, change: str = "set LIMIT to 10", family: str = "optimization", **fields: Any
) -> dict[str, Any]:
    """Give a planner's answer with one step in one file; `fields` replace or add to it."""
    plan = {
        "hypothesis": f"To {change} in {target} should improve the score because it does less work",
        "approach_family": family,
        "target_files": [target],
        "steps": [{"step": 1, "file": target, "change": change}],
        "expected_outcome": {
            "metric": "score",
            "estimated_impact": "5%",
            "rationale": "less work is done",
            "sub_score_expectations": {},
        },
        "history_reference": {"builds_on": "none", "avoids": "none"},
    }
    return plan | fields


def a_request(role: AgentRole, round_number: int = 1, **context: Any) -> AgentRequest:
    """Give a request as the loop would make it, with a short prompt."""
    agent_id = {"planner": "planner_a", "executor": "executor_1", "critic": "critic_1"}.get(
        role, role
    )
    return AgentRequest(
        role=role,
        round=round_number,
        agent_id=agent_id,
        session_id=f"test/round_{round_number}/{agent_id}",
        prompt="Answer.",
        context=context,
        output_schema=output_schema(role),
    )


def a_skill(name: str, artifact_kind: str | None = "plan", **fields: Any) -> bytes:
    """Give a SKILL.md; fields but `description` and `instructions` are its manifest's."""
    told = fields.pop("instructions", "# Do it\n")
    front = {
        "name": name,
        "description": fields.pop("description", "Does what a test wants done."),
        "metadata": {
            "id": name,
            "artifact_kind": artifact_kind,
            "accepted_inputs": "goal plan",
            "capability_tags": "testing",
            **fields,
        },
    }
    lines = (f"{key}: {json.dumps(value)}" for key, value in front.items())  # JSON is YAML
    return "\n".join(("---", *lines, "---", "", told)).encode()
