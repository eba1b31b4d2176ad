"""Asks the project's own gate command about a plan: announced before, reported after."""

from __future__ import annotations

import json
from collections.abc import Generator

from selfimprove.agents.prompts import shortened
from selfimprove.contracts.critique import RuleVerdict
from selfimprove.contracts.envelope import Draft, tool_call, tool_result
from selfimprove.contracts.goal import GuardCommand
from selfimprove.deps import Deps
from selfimprove.process import Outcome
from selfimprove.review.critique import failures, issues, panel_score
from selfimprove.review.gates import says_no
from selfimprove.steps.base import round_of, topic
from selfimprove.store.state import State
from selfimprove.store.state_actors import PlannerState

MOST_SAID = 1000
"""Characters of what a command prints that are told to the planner."""


def gate_command(state: State, deps: Deps, name: str) -> Generator[Draft, State, State]:
    """Run `gate.command` on a plan that the rules let pass, where the policy asks it."""
    settings, planner = deps.config.settings, round_of(state).planners[name]
    wanted = settings.gate_policy == "domain_specific" and settings.gate.command
    if not wanted or planner.word is not None or failures(planner.verdicts):
        return state
    commit, about = round_of(state).incumbent.commit, topic(state, "critic_review", name, "gate")
    call = tool_call(about, "gate.command", planner=name, commit=commit, revision=planner.revision)
    yield call
    log = f"round_{round_of(state).number}/gate_{name}_{planner.revision}.log"
    guard = GuardCommand(name="gate", command=settings.gate.command)
    outcome = deps.bench.guard(guard, commit, log, stdin=shown_plan(planner))
    word = word_of(outcome)
    spent = {"duration_s": round(outcome.duration_s, 3)}
    return (yield tool_result(call, {"planner": name, "word": word.document()}, spent))


def shown_plan(planner: PlannerState) -> bytes:
    """The plan as JSON, with what its reviewers said of it under `review`."""
    assert planner.plan is not None
    review = {
        "score": panel_score(planner.critiques),
        "scores": [reply.score for reply in planner.critiques],
        "issues": issues(planner.critiques),
        "architect": planner.architect.document() if planner.architect else None,
    }
    return json.dumps({**planner.plan.document(), "review": review}).encode()


def word_of(outcome: Outcome) -> RuleVerdict:
    """What the command's end comes to: 0 lets the plan pass, whatever else it printed."""
    if outcome.exit_code == 0:
        return RuleVerdict(rule="critics", passed=True, message="gate.command lets it pass")
    how = "timed out" if outcome.timed_out else f"exited with {outcome.exit_code}"
    said = (outcome.stdout + b"\n" + outcome.stderr).decode("utf-8", "replace").strip()
    told = shortened(said, MOST_SAID)
    return says_no(f"gate.command {how}", told or "it does not say why")
