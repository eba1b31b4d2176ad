"""What a run, a round and a step may still spend; functions of the record and the time of day.

A budget is looked at before a call is announced, never during one: calls made side by side have
begun together and all end, so that a limit can be passed by what one such batch costs. Minutes
count the time at work since this start; a pause is not charged, and the next start counts anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from selfimprove.agents.base import Agent, AgentFailure, Workspace
from selfimprove.contracts.agent import AgentReply, AgentRequest
from selfimprove.contracts.settings import Limit, Settings
from selfimprove.deps import Deadline, Deps
from selfimprove.steps.base import EndRun, round_of
from selfimprove.store.state import State

ROUND_OVER = "the round's time is over (round_timeout)"


@dataclass(frozen=True)
class Spent:
    """What one scope has spent."""

    calls: int
    tokens: int
    usd: float
    minutes: float


def by_run(state: State, clock: Deadline) -> Spent:
    """What the run has spent."""
    totals = state.totals
    return Spent(totals.calls, totals.tokens, totals.usd, _seconds(clock.began, clock) / 60)


def by_round(state: State, clock: Deadline) -> Spent:
    """What the round under way has spent."""
    now, before = state.totals, round_of(state).spent_before
    return Spent(
        now.calls - before.calls,
        now.tokens - before.tokens,
        now.usd - before.usd,
        round_seconds(state, clock) / 60,
    )


def by_step(state: State, clock: Deadline, step: str) -> Spent:
    """What one step of the round under way has spent, over all its attempts."""
    current = round_of(state)
    begun = max([current.started_at, *current.step_done.values()])
    calls = [span for span in state.spans if span.agent and _step(span.name) == step]
    usages = [span.usage for span in calls if span.usage]
    return Spent(
        sum(span.usage.counted if span.usage else 1 for span in calls),
        sum(usage.input_tokens + usage.output_tokens for usage in usages),
        sum(usage.usd for usage in usages),
        _seconds(datetime.fromisoformat(begun), clock) / 60,
    )


def round_seconds(state: State, clock: Deadline) -> float:
    """How long the round under way has been at work in this process."""
    return _seconds(datetime.fromisoformat(round_of(state).started_at), clock)


def used_up(state: State, settings: Settings, clock: Deadline) -> str:
    """Which limit of the run's budget is reached; empty where none is."""
    return _reached("the run", by_run(state, clock), settings.budget.run)


def used_up_for(state: State, settings: Settings, clock: Deadline, about: str) -> str:
    """The same for a call about `round_3/planning/planner_a`: of run, iteration and step."""
    return next((told for told in _scopes(state, settings, clock, _step(about), True) if told), "")


def used_up_within(state: State, settings: Settings, clock: Deadline) -> str:
    """Which limit the round was stopped by and would be stopped by again at once."""
    step = round_of(state).step
    return next((told for told in _scopes(state, settings, clock, step, True) if told), "")


def ensure_minutes(state: State, deps: Deps, about: str) -> None:
    """Raise EndRun where no measurement may begin: one costs time, and nothing else."""
    settings = deps.config.settings
    for told in _scopes(state, settings, deps.deadline, _step(about), False):
        if told:
            raise EndRun("budget", told)


def round_over(state: State, deps: Deps) -> bool:
    """Whether the round has had its time."""
    limit = deps.config.settings.round_timeout
    return limit is not None and round_seconds(state, deps.deadline) >= limit


def out_of_round() -> AgentFailure:
    """What stands for the answer of an agent that is not asked any more."""
    return AgentFailure("timeout", ROUND_OVER)


@dataclass(frozen=True)
class Hurried:
    """An agent that has until the end of the round, where that comes before its own time-out."""

    agent: Agent
    until: datetime

    @property
    def spec(self) -> str:
        """The agent's own."""
        return self.agent.spec

    @property
    def needs_git(self) -> bool:
        """The agent's own."""
        return self.agent.needs_git

    @property
    def in_room(self) -> bool:
        """The agent's own."""
        return self.agent.in_room

    def ask(self, request: AgentRequest, workspace: Workspace) -> AgentReply:
        """Ask the agent, in the shorter of the two times."""
        left = (self.until - datetime.now(UTC)).total_seconds()
        timeout = min(workspace.timeout, max(1.0, left))
        return self.agent.ask(request, replace(workspace, timeout=timeout))


def hurried(agent: Agent, state: State, deps: Deps) -> Agent:
    """The agent, held to what is left of the round."""
    limit = deps.config.settings.round_timeout
    if limit is None:
        return agent
    left = limit - round_seconds(state, deps.deadline)
    return Hurried(agent, datetime.now(UTC) + timedelta(seconds=left))


def _scopes(
    state: State, settings: Settings, clock: Deadline, step: str, paid: bool
) -> Iterator[str]:
    budget = settings.budget
    yield _reached("the run", by_run(state, clock), budget.run, paid)
    yield _reached("the iteration", by_round(state, clock), budget.iteration, paid)
    yield _reached(f"the step {step}", by_step(state, clock, step), budget.step, paid)


def _reached(whose: str, spent: Spent, limit: Limit, paid: bool = True) -> str:
    for name in ("calls", "tokens", "usd", "minutes") if paid else ("minutes",):
        used, cap = getattr(spent, name), getattr(limit, name)
        if cap is not None and used >= cap:
            return f"{whose} has spent {used:.4g} {name}, its budget is {cap:g}"
    return ""


def _seconds(since: datetime, clock: Deadline) -> float:
    return (datetime.now(UTC) - max(since, clock.began)).total_seconds()


def _step(about: str) -> str:
    return about.split("/")[1]
