"""Architect and critic: what code can tell of a plan without running it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from selfimprove.agents.base import Workspace
from selfimprove.agents.offline.attempts import attempts_of
from selfimprove.agents.offline.edits import StaleEdit
from selfimprove.agents.offline.executor import edited, edits_of
from selfimprove.agents.offline.scan import Scanner
from selfimprove.contracts.agent import AgentRequest

APPROVED = 0.95
LARGE_PLAN = 5
"""Files from which on a plan is too much to be one hypothesis."""


def architect(scanner: Scanner, request: AgentRequest, workspace: Workspace) -> dict[str, Any]:
    """Advise on a plan's structure: do its targets exist, does its edit still apply."""
    del scanner
    concerns = _concerns(request, workspace)
    return {
        "verdict": "reject" if concerns else "approve",
        "feedback": "; ".join(concerns) or "targets exist and the edits apply to them",
        "structural_concerns": concerns,
    }


def critic(scanner: Scanner, request: AgentRequest, workspace: Workspace) -> dict[str, Any]:
    """Score a plan, or the change that carries it out: full confidence less what is wrong."""
    del scanner
    if change := request.context.get("change"):
        return _of_change(request.context.get("plan") or {}, change)
    issues = _concerns(request, workspace)
    score = 0.3 if issues else APPROVED
    plan = request.context.get("plan") or {}
    family = request.context.get("family")
    if family and plan.get("approach_family") not in family:
        issues.append(f"its family {plan.get('approach_family')} was not given to its planner")
        score = 0.0
    said = "one change, its place is there, and it was not made before"
    return {"score": score, "issues": issues, "summary": "; ".join(issues) or said}


def _of_change(plan: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """What code can tell of a change that guards let pass: which files it has to do with."""
    changed, targets = set(change.get("files") or ()), set(plan.get("target_files") or ())
    issues = [f"{path} is changed, which the plan does not name" for path in changed - targets]
    issues += [f"{path} is to be changed, and is not" for path in targets - changed]
    summary = "; ".join(issues) or "it changes the files of the plan, and the guards are green"
    return {"score": 0.3 if issues else APPROVED, "issues": sorted(issues), "summary": summary}


def _concerns(request: AgentRequest, workspace: Workspace) -> list[str]:
    plan = request.context.get("plan") or {}
    targets = [str(target) for target in plan.get("target_files") or ()]
    editable = request.context.get("editable")
    concerns = []
    if isinstance(editable, list):
        barred = [t for t in targets if t not in editable and (workspace.tree / t).exists()]
        concerns += [f"{target} may not be changed" for target in barred]
    if len(targets) > LARGE_PLAN:
        concerns.append(f"{len(targets)} files at once cannot be told apart when it is measured")
    edits = edits_of(plan)
    try:
        for path in edited(workspace.tree, edits):
            if path not in targets:
                concerns.append(f"it edits {path}, which is not among its target files")
    except StaleEdit as error:
        concerns.append(str(error))
    return concerns + _repeats(plan, request.context)


def _repeats(plan: Mapping[str, Any], context: Mapping[str, Any]) -> list[str]:
    """The same edit of the same file, whatever came of it."""
    own = attempts_of({"attempts": [plan]})
    past = attempts_of(context)
    return [
        f"the same change was made in {before.plan_id} ({before.outcome})"
        for attempt in own
        for before in past
        if (attempt.key, attempt.new, attempt.edits) == (before.key, before.new, before.edits)
    ]
