"""Plans and contexts to vary."""

from __future__ import annotations

from typing import Any

from selfimprove.contracts.plan import Plan
from selfimprove.review.context import ReviewContext, TreeView
from selfimprove.testing import a_plan

TREE = TreeView(
    existing=frozenset({"src/a.py", "src/b.py", "bench.py", "docs/guide.md", "src/secret.py"}),
    in_scope=lambda path: path.startswith(("src/", "docs/")),
    sealed=lambda path: path in {"bench.py", "src/conftest.py"},
    hidden=lambda path: path == "src/secret.py",
    measures=lambda path: path == "bench.py",
)


def plan(
    planner: str = "planner_a", target: str = "src/a.py", number: int = 1, **fields: Any
) -> Plan:
    owned = {"plan_id": f"round_{number}_{planner}", "planner_id": planner, "round": number}
    return Plan.parse(a_plan(target) | owned | fields, "sample")


def context(**fields: Any) -> ReviewContext:
    return ReviewContext(tree=TREE, **fields)
