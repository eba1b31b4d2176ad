"""Scripted agents that runs of these tests name as `scripted:bad_input.agents:NAME`."""

from __future__ import annotations

import os
import re
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
