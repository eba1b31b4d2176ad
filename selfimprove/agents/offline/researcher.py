"""The researcher: what could help, where it stands in the code, and why it is believed."""

from __future__ import annotations

from collections import Counter
from typing import Any

from selfimprove.agents.base import Workspace
from selfimprove.agents.offline.attempts import attempts_of
from selfimprove.agents.offline.chooser import Choice, Chooser, seed_of
from selfimprove.agents.offline.profile import Profile
from selfimprove.agents.offline.proposals import evidence, impact
from selfimprove.agents.offline.scan import Scan, Scanner
from selfimprove.contracts.agent import AgentRequest

MOST_IDEAS = 30
EACH_FAMILY = 4
"""Ideas of every family that has any, however the rest is ranked."""
LOOKED_AT = 300


def brief(scanner: Scanner, request: AgentRequest, workspace: Workspace) -> dict[str, Any]:
    """Write a research brief: at most 30 ideas, the best of each family among them."""
    scan = scanner.scan(workspace.tree, request.context)
    profile = Profile.of(request.context)
    chooser = chooser_for(request, scan)
    choices = chooser.choices(scan.ideas, LOOKED_AT)
    return {
        "iteration": max(1, request.round),
        "researcher_id": "researcher",
        "repo_analysis_summary": _summary(scan, chooser, choices),
        "ideas": [_idea(choice, profile) for choice in _shown(choices)],
    }


def chooser_for(request: AgentRequest, scan: Scan) -> Chooser:
    """Build the chooser from what a request tells."""
    asked = tuple(idea.key for idea in scan.ideas if idea.asked)
    return Chooser(
        attempts=attempts_of(request.context),
        profile=Profile.of(request.context),
        seed=seed_of(request.session_id),
        asked=asked,
    )


def _shown(choices: list[Choice]) -> list[Choice]:
    count: Counter[str] = Counter()
    first: list[Choice] = []
    rest: list[Choice] = []
    for choice in choices:
        count[choice.idea.family] += 1
        (first if count[choice.idea.family] <= EACH_FAMILY else rest).append(choice)
    kept = (first + rest)[:MOST_IDEAS]
    return sorted(kept, key=lambda choice: -choice.weight)


def _idea(choice: Choice, profile: Profile) -> dict[str, Any]:
    idea = choice.idea
    return {
        "title": idea.title,
        "source": f"{idea.path}:{idea.line}",
        "evidence": evidence(idea, profile),
        "approach_family": idea.family,
        "confidence": idea.confidence,
        "estimated_impact": impact(idea, profile),
    }


def _summary(scan: Scan, chooser: Chooser, choices: list[Choice]) -> str:
    languages = Counter(file.language for file in scan.files.values())
    read = ", ".join(f"{count} {name}" for name, count in languages.most_common())
    families = Counter(choice.idea.family for choice in choices)
    left = ", ".join(f"{count} {name}" for name, count in families.most_common())
    parts = [f"Files that may be changed: {read or 'none that can be read'}."]
    parts.append(f"Changes not tried yet: {left or 'none'}.")
    hot = [f for f in chooser.profile.functions if f.own >= 0.03][:5]
    if hot:
        where = ", ".join(f"{f.function} ({f.file}:{f.line}) {f.own:.0%}" for f in hot)
        parts.append(f"The baseline spends its time in {where}.")
    if chooser.attempts:
        won = sum(1 for attempt in chooser.attempts if attempt.won)
        parts.append(f"Of {len(chooser.attempts)} earlier attempts {won} won.")
    if scan.not_actionable:
        parts.append("Not actionable offline: " + "; ".join(scan.not_actionable) + ".")
    return " ".join(parts)
