"""Scripted agents: one plan in one file, carried out by an executor that writes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from selfimprove.contracts.agent import AgentRequest
from selfimprove.testing import a_plan
from selfimprove.testing.documents import ANSWERS

TEXTS = {
    "src/pkg/value.py": "VALUE = 40\n",
    "src/main.rs": 'fn main() {\n    println!("{{\\"score\\": 40}}");\n}\n',
    "packages/lib/index.js": "module.exports = 40;\n",
}


def lower(request: AgentRequest, tree: Path) -> dict[str, Any]:
    """Bring the value down to 40, in whichever of the files the target has."""
    path, text = next(pair for pair in TEXTS.items() if (tree / pair[0]).exists())
    if request.role == "planner":
        return a_plan(path, "set the value to 40", family=request.context["family"][0])
    if request.role == "executor":
        (tree / path).write_text(text)
    return ANSWERS[request.role]
