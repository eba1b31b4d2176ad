"""Scripted agents that runs of these tests name as `scripted:bad_input.agents:NAME`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from selfimprove.contracts.agent import AgentRequest
from selfimprove.testing import a_plan
from selfimprove.testing.documents import ANSWERS


def target() -> str:
    return os.environ.get("BAD_INPUT_TARGET", "src/conf.py")


def improve(request: AgentRequest, tree: Path) -> dict[str, Any]:
    """Halve the LIMIT of the target's one source file."""
    if request.role == "planner":
        change = f"halve LIMIT, round {request.round}"
        return a_plan(target(), change, family=request.context["family"][0])
    if request.role == "executor":
        halve(tree / target())
        return {"summary": "halved"}
    return ANSWERS[request.role]


def halve(place: Path) -> None:
    text = place.read_text(encoding="utf-8")
    place.write_text(
        re.sub(r"(?m)^LIMIT = (\d+)", lambda found: f"LIMIT = {int(found[1]) // 2}", text),
        encoding="utf-8",
    )


def _with_plan(change: Callable[[dict[str, Any]], Any]) -> Callable[..., Any]:
    """The improving agent, whose planner's answer is changed."""

    def agent(request: AgentRequest, tree: Path) -> Any:
        answer = improve(request, tree)
        return change(dict(answer)) if request.role == "planner" else answer

    return agent


def _without(name: str) -> Callable[..., Any]:
    return _with_plan(lambda plan: {key: plan[key] for key in plan if key != name})


def _holding(**fields: Any) -> Callable[..., Any]:
    return _with_plan(lambda plan: plan | fields)


plan_without_hypothesis = _without("hypothesis")
plan_without_steps = _without("steps")
plan_without_outcome = _without("expected_outcome")
plan_with_an_extra_field = _holding(hypotesis="misspelt")
plan_with_a_wrong_type = _holding(confidence="high")
plan_with_no_target = _holding(target_files=[])
plan_with_no_hypothesis = _holding(hypothesis=" ")
plan_with_two_hypotheses = _holding(
    hypothesis="Hypothesis 1: a smaller LIMIT should lower the score. "
    "Hypothesis 2: a faster loop should also lower the score."
)
plan_of_an_unknown_family = _holding(approach_family="wizardry")
plan_for_a_file_outside = _holding(
    target_files=["../outside.py"],
    steps=[{"step": 1, "file": "../outside.py", "change": "halve LIMIT"}],
)
plan_for_an_absolute_file = _holding(
    target_files=["/etc/passwd"], steps=[{"step": 1, "file": "/etc/passwd", "change": "empty it"}]
)
plan_for_the_benchmark = _holding(
    target_files=["bench.sh"], steps=[{"step": 1, "file": "bench.sh", "change": "print 1"}]
)
plan_that_is_a_list = _with_plan(lambda plan: [plan])


def wrong_at_first(request: AgentRequest, tree: Path) -> dict[str, Any]:
    """A planner that mends its answer when it is told what was wrong with it."""
    answer = improve(request, tree)
    if request.role == "planner" and "could not be used" not in request.prompt:
        del answer["hypothesis"]
    return answer


def touches_the_benchmark(request: AgentRequest, tree: Path) -> dict[str, Any]:
    if request.role == "executor":
        (tree / "bench.sh").write_text("""echo '{"score": 1}'\n""")
    return improve(request, tree)


def changes_nothing(request: AgentRequest, tree: Path) -> dict[str, Any]:
    return improve(request, tree) if request.role != "executor" else {"summary": "done"}


def breaks_the_benchmark(request: AgentRequest, tree: Path) -> dict[str, Any]:
    if request.role == "executor":
        (tree / "src/conf.py").write_text("nothing\n")
        return {"summary": "gone"}
    return improve(request, tree)
