"""Phases and milestones: noted as events when they are reached, each once."""

from __future__ import annotations

from collections.abc import Callable

from selfimprove.store.rebuild import findings
from selfimprove.testing import goal_text
from selfimprove.testing.rehearsal import Rehearsal, number_plan

Stage = Callable[..., Rehearsal]
GOAL = (
    goal_text("sh bench.sh")
    + """
## Phases
| Phase | Focus | Sub-Score Targets | Status |
|-------|-------|-------------------|--------|
| first | the number a | a <= 25 | active |
| second | the number b | b <= 25 | pending |

## Milestones
| Milestone | Target |
|-----------|--------|
| below_80 | score <= 80 |
| below_10 | score <= 10 |
"""
)


def test_phases_and_milestones_become_events(stage: Stage) -> None:
    plans = [
        number_plan("a", 28, family="data"),
        number_plan("a", 20, family="architecture"),
        number_plan("b", 20, family="optimization"),
    ]
    play = stage(planner=plans, goal=GOAL, settings={"number_of_agents": 1})
    play.run(max_iterations=1)
    settings = play.document("state/agent-settings.json")
    assert (settings["current_phase"], settings["current_milestone"]) == ("first", None)
    assert play.document("tracking/events.json") == []
    play.run(max_iterations=3)
    events = [
        (row["event_type"], row["iteration"], row["details"]["field"])
        for row in play.document("tracking/events.json")
        if row["event_type"] != "config_change"
    ]
    assert events == [
        ("phase_transition", 2, "current_milestone"),
        ("phase_transition", 2, "current_phase"),
        ("phase_transition", 3, "current_phase"),
    ]
    changes = [
        (row["details"]["old_value"], row["details"]["new_value"])
        for row in play.document("tracking/events.json")
        if row["event_type"] == "phase_transition"
    ]
    assert changes == [(None, "below_80"), ("first", "second"), ("second", None)]
    settings = play.document("state/agent-settings.json")
    assert settings["current_milestone"] == "below_80"
    assert findings(play.layout) == []
