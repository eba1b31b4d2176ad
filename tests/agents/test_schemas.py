from __future__ import annotations

from typing import Any

import pytest

from selfimprove.agents.base import AgentFailure
from selfimprove.agents.schemas import ANSWERS, check_output, output_schema
from selfimprove.contracts.plan import Plan
from selfimprove.testing import a_plan, a_request


@pytest.mark.parametrize("role", list(ANSWERS))
def test_the_schema_names_what_it_refers_to_and_is_a_copy(role: Any) -> None:
    schema = output_schema(role)
    assert schema["type"] == "object"
    for name in schema.get("$defs", {}):
        assert f"#/$defs/{name}" in str(schema)
    schema["properties"].clear()
    assert output_schema(role)["properties"]


def test_a_planner_may_leave_out_what_the_orchestrator_owns() -> None:
    schema = output_schema("planner")
    owned = {"plan_id", "planner_id", "round", "critic_approved"}
    assert not owned & set(schema["required"])
    assert {"hypothesis", "approach_family", "target_files", "steps"} <= set(schema["required"])


@pytest.mark.parametrize(
    "owned",
    [
        {},
        {"plan_id": "round_99_planner_z", "planner_id": "planner_z", "round": 99},
        {"critic_approved": True, "critic_review": {"verdict": "approved"}},
        {"plan_id": None, "round": "one", "architect_review": 7},
    ],
)
def test_what_it_says_of_them_is_overwritten(owned: dict[str, Any]) -> None:
    request = a_request("planner", 3)
    plan = Plan.parse(check_output(request, a_plan("a.py") | owned), "answer")
    assert (plan.plan_id, plan.planner_id, plan.round) == ("round_3_planner_a", "planner_a", 3)
    assert (plan.critic_approved, plan.critic_review, plan.architect_review) == (False, None, None)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"hypothesis": None}, "hypothesis"),
        ({"approach_family": None}, "approach_family"),
        ({"target_files": []}, "target_files"),
        ({"target_files": "a.py"}, "target_files"),
        ({"steps": [{"step": "1", "file": "a.py", "change": "x"}]}, "steps.0.step"),
        ({"mood": "good"}, "remove 'mood'"),
        ({"hypothesys": "x"}, "did you mean 'hypothesis'"),
    ],
)
def test_a_malformed_plan_is_refused_by_name(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(AgentFailure, match="planner_a") as caught:
        check_output(a_request("planner"), a_plan("a.py") | fields)
    assert caught.value.kind == "output"
    assert words in caught.value.message


def test_a_missing_field_is_named() -> None:
    plan = a_plan("a.py")
    del plan["steps"]
    with pytest.raises(AgentFailure, match="add 'steps'"):
        check_output(a_request("planner"), plan)


@pytest.mark.parametrize("output", [None, [], "text", 3])
def test_only_an_object_is_an_answer(output: Any) -> None:
    with pytest.raises(AgentFailure, match="not a JSON object"):
        check_output(a_request("executor"), output)


@pytest.mark.parametrize("value", [float("nan"), object(), b"\xff", "\ud800"])
def test_a_script_s_answer_has_to_be_plain_json(value: Any) -> None:
    with pytest.raises(AgentFailure):
        check_output(a_request("critic"), {"score": 1.0, "summary": value})


def test_a_brief_is_of_this_round() -> None:
    given = {"iteration": 9, "repo_analysis_summary": "x", "ideas": []}
    assert check_output(a_request("researcher", 2), given)["iteration"] == 2


def test_an_executor_may_say_more_and_it_is_kept_as_said() -> None:
    said = {"summary": "done", "score": 1e9}
    assert check_output(a_request("executor"), said) == said
