"""Names and attributes of spans, in the conventions' words."""

from __future__ import annotations

from typing import Any

import pytest

from selfimprove.contracts.agent import Usage
from selfimprove.report.telling import failure, of_call, of_event, of_result, provider_of


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("anthropic:claude-x", ("anthropic", "claude-x")),
        ("openai:gpt-x", ("openai", "gpt-x")),
        ("openai-compatible:a@b@http://127.0.0.1:8000/v1", ("openai-compatible", "a@b")),
        ("codex:gpt-x", ("codex", "gpt-x")),
        ("claude-code", ("claude-code", "")),
        ("offline", ("", "")),
        ("command:python agent.py --model x", ("", "")),
        ("scripted:module:function", ("", "")),
        ("", ("", "")),
    ],
)
def test_who_provides_a_spec(spec: str, told: tuple[str, str]) -> None:
    assert provider_of(spec) == told


def call(**args: Any) -> dict[str, Any]:
    return {"tool": "agent.ask", "args": {"agent": "planner_a", "role": "planner", **args}}


def result(usage: Usage | None = None, tool: str = "agent.ask", **found: Any) -> dict[str, Any]:
    metrics = {"metrics": usage.document()} if usage else {}
    return {"tool": tool, "result": found, **metrics}


def test_a_question_to_a_model() -> None:
    told = of_call(call(spec="anthropic:claude-x", session_id="run/round_1/planner_a", attempt=2))
    assert (told.name, told.remote) == ("invoke_agent planner_a", True)
    assert told.attributes == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "planner_a",
        "gen_ai.conversation.id": "run/round_1/planner_a",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.system": "anthropic",
        "gen_ai.request.model": "claude-x",
        "selfimprove.role": "planner",
        "selfimprove.spec": "anthropic:claude-x",
        "selfimprove.attempt": 2,
    }


def test_an_agent_that_is_no_model_has_no_provider() -> None:
    told = of_call(call(spec="offline"))
    assert told.remote is False
    assert not any("provider" in name or "model" in name for name in told.attributes)


def test_what_an_answer_cost() -> None:
    usage = Usage(input_tokens=90, output_tokens=10, usd=0.5, calls=3, retries=1)
    usage = usage.model_copy(update={"cache_read_tokens": 40, "cache_write_tokens": 20})
    assert of_result(result(usage, ok=True)) == {
        "gen_ai.usage.input_tokens": 90,
        "gen_ai.usage.output_tokens": 10,
        "gen_ai.usage.cache_read.input_tokens": 40,
        "gen_ai.usage.cache_creation.input_tokens": 20,
        "selfimprove.calls": 3,
        "selfimprove.usd": 0.5,
        "selfimprove.retries": 1,
    }


@pytest.mark.parametrize(
    ("payload", "told"),
    [
        (result(ok=True, reply="x"), ""),
        (result(ok=False, kind="timeout", error="it took too long"), "timeout"),
        (result(tool="benchmark.run", sample={"score": 1.0}), ""),
        (result(tool="benchmark.run", failed={"category": "crash", "what": "exit 3"}), "crash"),
        (result(tool="git.publish", published="abc"), ""),
    ],
)
def test_of_what_kind_a_failure_is(payload: dict[str, Any], told: str) -> None:
    assert failure(payload) == told


def test_scores_of_a_measurement_and_of_a_pair() -> None:
    assert of_result(result(tool="benchmark.run", sample={"score": 9.5})) == {
        "selfimprove.score": 9.5
    }
    pair = {"incumbent": {"score": 9.0}, "candidate": {"score": 8.0}}
    assert of_result(result(tool="benchmark.pair", pair=pair)) == {
        "selfimprove.score.incumbent": 9.0,
        "selfimprove.score.candidate": 8.0,
    }


def test_an_event_tells_what_was_decided_and_not_why() -> None:
    gate = {"event": "gate", "planner": "planner_a", "decision": "reject", "reason": "words"}
    assert of_event(gate) == {
        "selfimprove.planner": "planner_a",
        "selfimprove.decision": "reject",
    }
    assert of_event({"event": "executor_status"}) is None
