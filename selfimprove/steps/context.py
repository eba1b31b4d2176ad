"""What an agent is told: the documents its role reads, and the prompt made of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from selfimprove.agents.prompts import Question, build_request
from selfimprove.contracts.agent import AgentRequest, AgentRole
from selfimprove.contracts.settings import Settings
from selfimprove.deps import Deps
from selfimprove.review.calibration import calibrations
from selfimprove.review.lessons import lessons
from selfimprove.steps.base import round_of
from selfimprove.store.state import State


def common(state: State, deps: Deps) -> dict[str, Any]:
    """The documents that every role reads."""
    goal = deps.config.goal.document()
    goal["scope"]["hidden"] = []  # what is hidden is in no agent's prompt
    prefix = deps.workshop.prefix
    for name in ("in_scope", "out_of_scope"):
        # plans name files from the top of the repository, whichever folder the goal lies in
        goal["scope"][name] = [f"{prefix}{path.removeprefix('./')}" for path in goal["scope"][name]]
    return {
        "goal": goal,
        "settings": _shown(deps.config.settings).document(),
        "history": [record.document() for record in state.recent],
        **_taught(state, deps),
        "rules": list(deps.harness.rules),
        "ideas": round_of(state).ideas,
        "feedback": [],
    }


def _taught(state: State, deps: Deps) -> dict[str, Any]:
    """What rounds before the recent ones taught as well: of families, and of planners' words."""
    assert state.facts is not None
    direction = state.facts.direction
    return deps.attempts.made_once(
        lambda rows: {
            "lessons": lessons(rows, direction),
            "calibration": calibrations(rows, direction),
        }
    )


def _shown(settings: Settings) -> Settings:
    """The settings less what tells of the held-out benchmark."""
    provide = [one for one in settings.provide if set(one.for_) != {"holdout"}]
    return settings.model_copy(update={"holdout_command": "", "provide": provide})


@dataclass(frozen=True)
class Turn:
    """Whose turn it is."""

    role: AgentRole
    agent_id: str
    call: str = ""
    """Tells the agent's calls of one round apart in the session id."""
    about: str = ""
    """Whose work a reviewer looks at: `planner_a`, `executor_1`."""


def request(state: State, deps: Deps, turn: Turn, context: dict[str, Any]) -> AgentRequest:
    """A request to one agent, told by the skill that the run has for its role."""
    current = round_of(state)
    assert state.facts is not None
    session = "/".join(
        part
        for part in (
            state.facts.run_id,
            f"round_{current.number}",
            turn.about,
            turn.agent_id,
            turn.call,
        )
        if part
    )
    told = deps.skills[turn.role].instructions
    return build_request(Question(turn.role, current.number, turn.agent_id, session, context, told))


def for_offline(state: State, deps: Deps) -> dict[str, Any]:
    """What only agents that learn from every result are shown besides."""
    assert state.facts is not None
    current = round_of(state)
    return {
        "attempts": deps.attempts.best_and_last(state.facts.direction),
        "editable": deps.workshop.editable(current.incumbent.commit),
        "incumbent_tree": deps.workshop.tree_oid(current.incumbent.commit),
        "profile": state.facts.profile,
    }
