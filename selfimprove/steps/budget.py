"""What a run, a round, a step and a role may still spend; functions of the record and the time.

A budget is looked at before a call is announced. A model's requests are reserved from what is left,
each at its worst case, so that no limit is passed. Minutes count the time at work since this start;
a pause is not charged, and the next start counts anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from selfimprove.agents.base import Agent, AgentFailure, Workspace
from selfimprove.agents.purse import Purse, Scope
from selfimprove.contracts.agent import AgentReply, AgentRequest, Usage
from selfimprove.contracts.settings import Limit, Settings
from selfimprove.deps import Deadline, Deps
from selfimprove.steps.base import EndRun, round_of
from selfimprove.store.state import State

ROUND_OVER = "the round's time is over (round_timeout)"
COUNTED = ("calls", "tokens", "usd")
PLANNED = ("planning", "critic_review")
"""Steps that are made again where too few plans passed."""


@dataclass(frozen=True)
class Spent:
    """What one scope has spent."""

    calls: int
    tokens: int
    usd: float
    minutes: float


NOTHING_SPENT = Spent(0, 0, 0.0, 0.0)


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
    shares = [spent for share, spent in current.spent.items() if share.startswith(f"{step}/")]
    return _sum(shares, _seconds(datetime.fromisoformat(begun), clock))


def by_role(state: State, role: str) -> Spent:
    """What the holders of a role have spent in the round under way; minutes are their own."""
    spent = round_of(state).spent.items()
    shares = [each for share, each in spent if share.endswith(f"/{role}")]
    return _sum(shares, sum(each.duration_s for each in shares))


def round_seconds(state: State, clock: Deadline) -> float:
    """How long the round under way has been at work in this process, waits left out."""
    current = round_of(state)
    seconds = _seconds(datetime.fromisoformat(current.started_at), clock)
    return max(0.0, seconds - (current.waited_s or 0.0))


def used_up(state: State, settings: Settings, clock: Deadline) -> str:
    """Which limit of the run's budget is reached; empty where none is."""
    return _reached("the run", by_run(state, clock), settings.budget.run)


def used_up_for(state: State, settings: Settings, clock: Deadline, about: str, role: str) -> str:
    """The same for a call about `round_3/planning/planner_a`: of all that bind it."""
    named = _scopes(state, settings, clock, _step(about))
    reached = (_reached(*each[:3]) for each in named if each[3] in ("", role))
    return next(filter(None, reached), "")


def used_up_within(state: State, settings: Settings, clock: Deadline) -> str:
    """Which limit the round was stopped by and would be stopped by again at once."""
    reached = (
        _reached(*each[:3]) for each in _scopes(state, settings, clock, round_of(state).step)
    )
    return next(filter(None, reached), "")


def ensure_minutes(state: State, deps: Deps, about: str) -> None:
    """Raise EndRun where no measurement may begin: one costs time, and nothing else."""
    for whose, spent, limit, role in _scopes(
        state, deps.config.settings, deps.deadline, _step(about)
    ):
        told = _reached(whose, spent, Limit(minutes=limit.minutes))
        if told and not role:
            raise EndRun("budget", told)


def too_dear(state: State, settings: Settings) -> str:
    """Why planning once more does not fit what budgets leave; empty where it does.

    It is priced by what plans and their review have cost in this round so far, for each plan.
    """
    planners = round_of(state).planners.values()
    made = sum(each.revision for each in planners)
    owing = sum(1 for each in planners if not (each.plan and each.plan.critic_approved))
    for step in PLANNED:
        for whose, spent, limit, role in _scopes(state, settings, Deadline(), step):
            per_plan = _planned(state, step if whose == f"the step {step}" else "", role)
            for name in COUNTED:
                cap, price = getattr(limit, name), getattr(per_plan, name) * owing / max(1, made)
                left = None if cap is None else max(0, cap - getattr(spent, name))
                if left is not None and price > left:
                    return (
                        f"planning once more would cost about {price:.4g} {name}, "
                        f"and {whose} has {left:.4g} left"
                    )
    return ""


def _planned(state: State, step: str, role: str) -> Spent:
    """What planning and review have spent in this round: in one step, by one role, or in all."""
    shares = [
        spent
        for share, spent in round_of(state).spent.items()
        for where, who in [share.split("/", 1)]
        if where in PLANNED and step in ("", where) and role in ("", who)
    ]
    return _sum(shares, 0.0)


def round_over(state: State, deps: Deps) -> bool:
    """Whether the round has had its time."""
    limit = deps.config.settings.round_timeout
    return limit is not None and round_seconds(state, deps.deadline) >= limit


def out_of_round() -> AgentFailure:
    """What stands for the answer of an agent that is not asked any more."""
    return AgentFailure("timeout", ROUND_OVER)


@dataclass(frozen=True)
class Hurried:
    """An agent with the time it has: to the end of the round where that comes first, and no more
    than a question may take; what it spends is on the tab that was opened for the question.
    """

    agent: Agent
    until: datetime | None
    purse: Purse = field(default_factory=Purse)
    seconds: float | None = None

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
        """Ask the agent, in the shortest of the times."""
        timeout = min(workspace.timeout, self.seconds or workspace.timeout)
        if self.until is not None:
            left = (self.until - datetime.now(UTC)).total_seconds()
            timeout = min(timeout, max(1.0, left))
        tab = self.purse.tab(request.session_id)
        if tab is not None:
            tab.keep()
        return self.agent.ask(request, replace(workspace, timeout=timeout, tab=tab))


def hurried(agent: Agent, state: State, deps: Deps) -> Agent:
    """The agent, held to what is left of the round and to what a question may take."""
    settings = deps.config.settings
    until = None
    if settings.round_timeout is not None:
        left = settings.round_timeout - round_seconds(state, deps.deadline)
        until = datetime.now(UTC) + timedelta(seconds=left)
    minutes = settings.budget.call.minutes
    return Hurried(agent, until, deps.purse, None if minutes is None else 60 * minutes)


def take_note(state: State, deps: Deps, about: str, settled: str = "") -> None:
    """Tell the purse what is left for calls about `round_3/planning/planner_a`.

    `settled` is the session whose cost the record now holds.
    """
    settings = deps.config.settings
    named = _scopes(state, settings, deps.deadline, _step(about))
    deps.purse.call = left_of("a single question", NOTHING_SPENT, settings.budget.call)
    deps.purse.look(tuple(left_of(*each) for each in named), settled)


def left_of(whose: str, spent: Spent, limit: Limit, role: str = "") -> Scope:
    """What a budget leaves of its calls, tokens and dollars."""
    caps = {name: getattr(limit, name) for name in COUNTED}
    left = {name: cap - getattr(spent, name) for name, cap in caps.items() if cap is not None}
    return Scope(whose, role=role, **left)


_Scope = tuple[str, Spent, Limit, str]
"""Whose budget it is, what was spent of it, the budget, and the role that alone it binds."""


def _scopes(state: State, settings: Settings, clock: Deadline, step: str) -> Iterator[_Scope]:
    budget = settings.budget
    yield "the run", by_run(state, clock), budget.run, ""
    yield "the iteration", by_round(state, clock), budget.iteration, ""
    yield f"the step {step}", by_step(state, clock, step), budget.step, ""
    for role, limit in budget.roles.items():
        yield f"the role {role}", by_role(state, role), limit, role


def _reached(whose: str, spent: Spent, limit: Limit) -> str:
    for name in (*COUNTED, "minutes"):
        used, cap = getattr(spent, name), getattr(limit, name)
        if cap is not None and used >= cap:
            return f"{whose} has spent {used:.4g} {name}, its budget is {cap:g}"
    return ""


def _sum(shares: list[Usage], seconds: float) -> Spent:
    return Spent(
        sum(each.counted for each in shares),
        sum(each.tokens for each in shares),
        sum(each.usd for each in shares),
        seconds / 60,
    )


def _seconds(since: datetime, clock: Deadline) -> float:
    return (datetime.now(UTC) - max(since, clock.began)).total_seconds()


def _step(about: str) -> str:
    return about.split("/")[1]
