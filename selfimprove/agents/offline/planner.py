"""The planner: the best untried change of its families and files, as a plan with exact edits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from selfimprove.agents.base import AgentFailure, Workspace
from selfimprove.agents.offline.attempts import attempts_of
from selfimprove.agents.offline.edits import StaleEdit
from selfimprove.agents.offline.executor import edited, edits_of
from selfimprove.agents.offline.idea import ChangeIdea
from selfimprove.agents.offline.proposals import hypothesis
from selfimprove.agents.offline.proposals import plan as written
from selfimprove.agents.offline.researcher import chooser_for
from selfimprove.agents.offline.scan import Scan, Scanner
from selfimprove.contracts.agent import AgentRequest

LOOKED_AT = 40
"""Changes that are weighed once those a planner may not propose are left out."""


def propose(scanner: Scanner, request: AgentRequest, workspace: Workspace) -> dict[str, Any]:
    """Propose one change; AgentFailure where its families and files hold none that is new."""
    context = request.context
    scan = scanner.scan(workspace.tree, context)
    chooser = chooser_for(request, scan)
    allowed = list(_allowed(scan, context))
    refused = set(_refused(context))
    metric = str(((context.get("goal") or {}).get("metric") or {}).get("name") or "the score")
    for choice in chooser.choices(allowed, LOOKED_AT + len(refused)):
        if hypothesis(choice, metric) in refused:
            continue
        plan = written(choice, context, attempts_of(context))
        with suppress(StaleEdit):  # a rewrite that would not compile is passed over
            edited(workspace.tree, edits_of(plan))
            return plan
    raise AgentFailure("output", _nothing_left(scan, context, allowed))


def _allowed(scan: Scan, context: Mapping[str, Any]) -> Iterator[ChangeIdea]:
    families = set(context.get("family") or ())
    files = set(context.get("files") or ())
    told = [one for one in context.get("feedback") or () if isinstance(one, Mapping)]
    avoided = {family for one in told for family in one.get("families_to_avoid") or ()}
    narrowed = {file for one in told for file in one.get("files_in_scope") or ()}
    for idea in scan.ideas:
        if (families and idea.family not in families) or (files and idea.path not in files):
            continue
        if idea.family in avoided - families or (narrowed and idea.path not in narrowed):
            continue
        yield idea


def _refused(context: Mapping[str, Any]) -> Iterator[str]:
    """Hypotheses of this round that were sent back or belong to another planner."""
    for one in context.get("feedback") or ():
        if isinstance(one, Mapping) and one.get("plan"):
            yield str(one["plan"])
    held = context.get("plan")
    if isinstance(held, Mapping):
        yield str(held.get("hypothesis", ""))


def _nothing_left(scan: Scan, context: Mapping[str, Any], allowed: list[ChangeIdea]) -> str:
    families = ", ".join(context.get("family") or ()) or "any family"
    where = f" in {', '.join(context['files'][:5])}" if context.get("files") else ""
    if allowed:
        return f"every change it knows of {families}{where} was tried ({len(allowed)} places)"
    others = sorted({idea.family for idea in scan.ideas})
    said = f"; it has some of {', '.join(others)}" if others else ""
    return f"the offline agent finds nothing of {families}{where}{said}"
