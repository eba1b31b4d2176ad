"""What each role must answer: the schema it is shown, and the check its answer meets.

Both come from the data contracts. Fields that the orchestrator owns (a plan's ids, round and
reviews) may be left out or hold anything: they are overwritten before the check.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError, to_json

from selfimprove.agents.base import AgentFailure
from selfimprove.contracts.agent import AgentRequest, AgentRole, ExecutorOutput
from selfimprove.contracts.base import refusal
from selfimprove.contracts.brief import ResearchBrief
from selfimprove.contracts.critique import CriticReply
from selfimprove.contracts.plan import ArchitectReview, Plan
from selfimprove.contracts.setup import BuilderReply, ClarifierReply

ANSWERS: dict[AgentRole, type[BaseModel]] = {
    "researcher": ResearchBrief,
    "planner": Plan,
    "architect": ArchitectReview,
    "critic": CriticReply,
    "executor": ExecutorOutput,
    "goal-clarifier": ClarifierReply,
    "benchmark-builder": BuilderReply,
}
OWNED: dict[AgentRole, tuple[str, ...]] = {
    "researcher": ("iteration", "researcher_id"),
    "planner": (
        "plan_id",
        "planner_id",
        "round",
        "critic_approved",
        "critic_review",
        "architect_review",
    ),
}


@cache
def _schema(role: AgentRole) -> dict[str, Any]:
    if role not in ANSWERS:
        return {"type": "object"}
    schema = ANSWERS[role].model_json_schema(mode="validation")
    owned = OWNED.get(role, ())
    for name in owned:
        schema["properties"][name] = {"description": "May be left out: the orchestrator sets it."}
    required = [name for name in schema.get("required", []) if name not in owned]
    shown = {**schema, "required": required}
    if "$defs" in schema:
        shown["$defs"] = _used(schema["$defs"], schema["properties"])
    return shown


@cache
def _schema_text(role: AgentRole) -> str:
    return json.dumps(_schema(role))


def _used(definitions: dict[str, Any], start: Any) -> dict[str, Any]:
    """Leave out definitions that nothing refers to any more."""
    used: dict[str, Any] = {}
    waiting = [start]
    while waiting:
        text = json.dumps(waiting.pop())
        for name in definitions:
            if name not in used and f'"#/$defs/{name}"' in text:
                used[name] = definitions[name]
                waiting.append(definitions[name])
    return used


def output_schema(role: AgentRole) -> dict[str, Any]:
    """Give the JSON Schema of a role's answer."""
    schema: dict[str, Any] = json.loads(_schema_text(role))  # a copy, and faster than deepcopy
    return schema


def check_output(request: AgentRequest, output: Any) -> dict[str, Any]:
    """Check an answer against its role and fill what the orchestrator owns; or AgentFailure.

    The check is strict: `"0.9"` is no number and `true` is no score.
    """
    if not isinstance(output, dict):
        raise AgentFailure("output", f"{request.agent_id}: the answer is not a JSON object")
    record = ANSWERS.get(request.role)
    if record is None:
        return output
    try:
        text = to_json({**output, **owned_fields(request)}, inf_nan_mode="constants")
        checked = record.model_validate_json(text, strict=True)
    except (PydanticSerializationError, UnicodeEncodeError, RecursionError) as error:
        raise AgentFailure("output", f"{request.agent_id}: not plain JSON: {error}") from None
    except ValidationError as error:
        told = refusal(record, error, f"{request.agent_id}'s answer")
        raise AgentFailure("output", str(told)) from None
    return checked.model_dump(mode="json")


def owned_fields(request: AgentRequest) -> dict[str, Any]:
    """Give the fields that the orchestrator sets in this role's answer, whatever was answered."""
    if request.role == "researcher":
        return {"iteration": request.round, "researcher_id": request.agent_id}
    if request.role == "planner":
        return {
            "plan_id": f"round_{request.round}_{request.agent_id}",
            "planner_id": request.agent_id,
            "round": request.round,
            "critic_approved": False,
            "critic_review": None,
            "architect_review": None,
        }
    return {}
