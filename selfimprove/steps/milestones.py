"""Phases and milestones of a goal: noted as events, never a reason to merge or not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from selfimprove.bench.conditions import holds
from selfimprove.contracts.goal import Goal, Phase
from selfimprove.store.state import State


def transitions(state: State, goal: Goal) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """What the incumbent has reached since the last round: (about, event, details)."""
    values = known_values(state, goal)
    before = state.settings.current_milestone if state.settings else None
    for milestone in goal.milestones:
        if milestone.name not in state.milestones and holds(milestone.target, values):
            reached = _moved("current_milestone", before, milestone.name)
            reached["target"] = milestone.target
            before = milestone.name
            yield f"milestone_{milestone.name}", "milestone_reached", reached
    phase = next((each for each in goal.phases if each.name == state.phase), None)
    if phase and phase.targets and all(holds(target, values) for target in phase.targets):
        details = _moved("current_phase", phase.name, _after(goal, phase))
        yield f"phase_{phase.name}", "phase_transition", details


def _moved(field: str, old: str | None, new: str | None) -> dict[str, Any]:
    return {"field": field, "old_value": old, "new_value": new, "source": "goal"}


def _after(goal: Goal, phase: Phase) -> str | None:
    following = goal.phases[goal.phases.index(phase) + 1 :]
    return following[0].name if following else None


def first_phase(goal: Goal) -> str | None:
    """The phase a run begins in."""
    active = [phase for phase in goal.phases if phase.status == "active"]
    pending = [phase for phase in goal.phases if phase.status != "completed"]
    return next((phase.name for phase in active or pending), None)


def known_values(state: State, goal: Goal) -> dict[str, Any]:
    """What an expression may speak of: `score`, the metric by name, and every sub-score."""
    if state.incumbent is None:
        return {}
    score = state.incumbent.score
    named = {**state.incumbent.sub_scores, goal.metric.name: score, "score": score}
    return {**named, "sub_scores": dict(state.incumbent.sub_scores)}
