"""Asks the agents of set-up: before there is a run, and so a journal.

What each question may cost is on a tab from before it is asked, and the tab stays until a run books
it: see `steps.lost`. Replies are kept, as a run keeps them: a set-up that is begun again pays for
none of them twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from selfimprove.agents.base import Agent, AgentFailure
from selfimprove.agents.prompts import Question, build_request
from selfimprove.agents.purse import Purse, read_tabs
from selfimprove.agents.replies import KeptReply
from selfimprove.contracts.agent import AgentRole, RunTotals, Usage
from selfimprove.contracts.settings import Settings
from selfimprove.deps import Deps
from selfimprove.setup.proposal import Proposal
from selfimprove.steps.asking import Ask, Worker, again, opened_tab
from selfimprove.steps.budget import NOTHING_SPENT, Hurried, Spent, left_of

SHOWN = 12
"""Of what was found in a repository, told to an agent."""

Check = Callable[[dict[str, Any]], None]
"""Raises AgentFailure for an answer that fits its schema and cannot be used all the same."""


@dataclass(frozen=True)
class Asker:
    """Asks one question after the other; where one fails it is asked once more, with the error."""

    deps: Deps
    say: Callable[[str], None]

    def __call__(
        self,
        question: Question,
        work: Callable[[Agent], Worker],
        check: Check = lambda _: None,
    ) -> KeptReply:
        """The answer; raises AgentFailure where there is none, and Stopped."""
        settings = self.deps.config.settings
        agent = self.deps.roster.agent(question.role)
        minutes = settings.budget.call.minutes
        held = Hurried(agent, None, self.deps.purse, None if minutes is None else 60 * minutes)
        told = replace(question, instructions=self.deps.skills[question.role].instructions)
        request = build_request(told)
        about = f"setup/{request.session_id.partition('/')[2]}"
        ask = Ask(about, request, agent.spec, work(held))
        try:
            return self._once(ask, check)
        except AgentFailure as failure:
            if failure.kind in ("budget", "unreachable"):
                raise
            self.say(f"{question.agent_id} is asked once more: {failure}")
            return self._once(_anew(ask, failure), check)

    def _once(self, ask: Ask, check: Check) -> KeptReply:
        kept = ask.worker.kept(ask.digest) or self._paid(ask)
        check(kept.reply.output)
        return kept

    def _paid(self, ask: Ask) -> KeptReply:
        if refused := opened_tab(self.deps, ask):
            raise AgentFailure("budget", refused)
        tab = self.deps.purse.tab(ask.request.session_id)
        assert tab is not None
        try:
            kept = ask()
        except AgentFailure as failure:
            tab.settle(failure.usage or Usage(), str(failure))
            raise
        tab.settle(kept.reply.usage)
        return kept


def _anew(ask: Ask, failure: AgentFailure) -> Ask:
    """The same question with the error of the first answer, on a tab of its own."""
    once_more = again(ask, failure)
    session = f"{ask.request.session_id}-again"
    request = once_more.request.model_copy(update={"session_id": session})
    return replace(once_more, request=request, correlation_id=f"{ask.correlation_id}-again")


def question_to(role: AgentRole, name: str, context: dict[str, Any]) -> Question:
    """A question to one agent of set-up; `name` tells it from the others."""
    return Question(role, 0, role, f"setup/{role}/{name}", context)


def shown(proposals: list[Proposal]) -> list[dict[str, str]]:
    """What was found, as an agent is told it."""
    return [
        {"kind": each.kind, "what": each.command, "why": each.why} for each in proposals[:SHOWN]
    ]


def purse_of(settings: Settings, totals: RunTotals, replies: Path) -> Purse:
    """What set-up may spend: as much as one iteration may, and what the run's budget leaves.

    Tabs of a set-up that was broken off are kept out of the way: nothing has booked them yet, and
    the same question, asked again, has the same name.
    """
    calls, tokens, usd = totals.calls, totals.tokens, totals.usd
    for place, tab in read_tabs(replies):
        if tab is not None:
            place.rename(place.with_name(f"{tab.id}.tab"))
            worst = tab.worst
            calls, tokens, usd = calls + worst.counted, tokens + worst.tokens, usd + worst.usd
    spent, budget = Spent(calls, tokens, usd, 0.0), settings.budget
    scopes = [left_of("the run", spent, budget.run)]
    scopes += [left_of("set-up", NOTHING_SPENT, each) for each in (budget.iteration, budget.step)]
    scopes += [
        left_of(f"the role {role}", NOTHING_SPENT, limit, role)
        for role, limit in budget.roles.items()
    ]
    return Purse(tuple(scopes), left_of("a single question", NOTHING_SPENT, budget.call))
