"""The agents that `init` asks: what has to hold before the first of them is, and what they do."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from selfimprove.agents.registry import DEFAULT, specs_for
from selfimprove.agents.skill_sources import registry
from selfimprove.agents.skills import ASKED, AT_SETUP
from selfimprove.app.budget import budgeted, without_limits
from selfimprove.app.common import confirm_facts, say, where, with_environment
from selfimprove.contracts.agent import AgentRole
from selfimprove.contracts.setup import ClarifierReply
from selfimprove.errors import UsageError
from selfimprove.process import StopToken, signals_to
from selfimprove.report.plain import clean, one_line
from selfimprove.room.isolation import probe
from selfimprove.session import prepare_folder
from selfimprove.setup.asking import Asker, purse_of, question_to, shown
from selfimprove.setup.building import ROLE as BUILDER
from selfimprove.setup.building import Builder, Built
from selfimprove.setup.checks import probe_agent
from selfimprove.setup.clarifying import AgentInterview, Clarifier
from selfimprove.setup.draft import Draft
from selfimprove.setup.forecast import accounts_in, forecast, spenders_in
from selfimprove.setup.installing import install
from selfimprove.setup.interview import Interview, Question
from selfimprove.setup.prompts import ask, show
from selfimprove.setup.proposal import Proposal
from selfimprove.setup.studio import Studio, drafted
from selfimprove.setup.trust import trust_facts
from selfimprove.site import Site
from selfimprove.store import lock
from selfimprove.store.files import write_whole
from selfimprove.store.record import load_state
from selfimprove.vcs.names import readable
from selfimprove.vcs.patterns import Patterns
from selfimprove.wiring import Control

if TYPE_CHECKING:
    from selfimprove.app.options import InitOptions

CLARIFIER: AgentRole = "goal-clarifier"
WIDE = 1000
"""Characters of an agent's line that are shown."""
PATCH_LINES = 400
"""Of a patch, shown in a terminal; the whole of it is in a file."""


@dataclass
class SetupAgents:
    """Who fills the roles of set-up; none is asked before a person agreed to it."""

    options: InitOptions
    draft: Draft
    """As flags have it."""
    proposals: list[Proposal]
    stack: ExitStack
    """Holds the run's lock from the first question on."""

    def __post_init__(self) -> None:
        self._stop = StopToken()
        self._studio: Studio | None = None
        self._files: Mapping[str, tuple[bytes, bool]] = {}
        """To be put into the user's tree."""

    @cached_property
    def site(self) -> Site:
        """The target with the draft for its goal."""
        return drafted(where(self.options), self._flags, self.draft)

    def given(self, role: AgentRole) -> bool:
        """Whether a role is filled by more than rules."""
        return specs_for(self.site.config.settings, role)[0] != DEFAULT

    def clarifier(self, rules: Interview) -> Clarifier:
        """Who leads the interview."""
        if not self.given(CLARIFIER):
            return rules
        studio = self._admitted()
        stage = studio.stage(self.draft)
        asker, workshop = Asker(stage.deps, tell), stage.deps.workshop
        base, prefix = stage.facts.base_commit, stage.site.target.prefix
        files = workshop.tools.quarantine.entries(base)

        def understand(
            context: dict[str, Any], name: str, check: Callable[[dict[str, Any]], None]
        ) -> ClarifierReply:
            told = {**context, "rules": list(stage.deps.harness.rules)}
            question = question_to(CLARIFIER, name, told)
            with signals_to(self._stop):
                kept = asker(question, lambda agent: workshop.reader(agent, base), check)
            return ClarifierReply.parse(kept.reply.output, f"the answer of {CLARIFIER}")

        def in_scope(patterns: Sequence[str]) -> int:
            meant = Patterns(patterns, prefix)
            return sum(path in meant for path in files)

        rules = replace(rules, show=tell, files_in_scope=in_scope)
        return AgentInterview(understand, asked, tell, rules, shown(self.proposals))

    def built(self, draft: Draft) -> Draft:
        """The draft with a benchmark that was built, tried and confirmed; see `install`."""
        studio = self._admitted()
        say(f"no benchmark is found: {self._spec(BUILDER)} is asked to build one")
        with signals_to(self._stop):
            built = Builder(studio, tell, shown(self.proposals)).run(draft)
        self._confirm_built(built)
        self._files = built.files
        return built.draft

    def install(self) -> None:
        """Put what was built into the user's tree; raises TargetError where it cannot be."""
        for place in install(self.site.target.top, self._files):
            say(f"written: {place}")

    def confirm(self, text: str) -> None:
        """Show the goal that agents had a part in, and ask; raises UsageError."""
        if self._studio is None:
            return
        tell(f"\n{text}")
        self._agree("Use this goal?", "the goal was not confirmed")

    @property
    def _flags(self) -> dict[str, Any]:
        options = self.options
        agents: dict[str, str] = {}
        if options.agent:
            agents = dict.fromkeys((*ASKED, *AT_SETUP), options.agent)
        agents |= {role: specs[0] for role, specs in options.roles.items()}
        flags: dict[str, Any] = {f"agents.{role}": spec for role, spec in agents.items()}
        flags |= without_limits(AT_SETUP) if options.no_budget else {}
        return {**flags, "budget.run.usd": options.budget_usd}

    def _spec(self, role: AgentRole) -> str:
        return specs_for(self.site.config.settings, role)[0]

    def _admitted(self) -> Studio:
        """Where agents may be asked: budgets, trust and probes come first, once."""
        if self._studio is not None:
            return self._studio
        options, site = self.options, with_environment(self.site)
        roles = [role for role in AT_SETUP if self.given(role)]
        state, settings = load_state(site.layout), site.config.settings
        spenders, paying = spenders_in(settings, roles), accounts_in(settings, roles)
        if spenders:
            costs = forecast(settings, state, roles).lines("set-up by agents")
            costs += [f"{spec} is paid for by {words}" for spec, words in paying]
            site = budgeted(site, spenders, costs, options.no_budget, not options.yes)
        settings = site.config.settings
        skills = registry(site.target.git, site.target.head)
        told = [skills[role] for role in roles if skills[role].source != "bundled"]
        facts = trust_facts(
            settings.model_copy(update={"benchmark_command": self.draft.command}),
            probe(settings.sandbox.mode).level,
            skills=told,
            accounts=paying,
        )
        confirm_facts(facts, "", yes=options.yes)
        for role in roles:
            probe_agent(self._spec(role), settings)
        prepare_folder(site.layout)
        self.stack.enter_context(lock.held(site.layout.lock))
        site.private.mkdir(parents=True, exist_ok=True)
        flags = self._flags | {"budget.run.usd": settings.budget.run.usd}
        flags["provide"] = [one.document() for one in settings.provide]
        purse = purse_of(settings, state.totals, site.layout.replies)
        self._studio = Studio(where(options), flags, Control(self._stop, waiting=say), purse)
        return self._studio

    def _confirm_built(self, built: Built) -> None:
        """Show what would be put into the user's tree, and ask; raises UsageError."""
        place = self.site.layout.logs / "round_0/benchmark.patch"
        write_whole(place, built.patch.encode("utf-8", "surrogateescape"))
        lines = built.patch.splitlines()
        tell("\n".join(lines[:PATCH_LINES]))
        if len(lines) > PATCH_LINES:
            tell(f"... {len(lines) - PATCH_LINES} lines more, in {place}")
        reply = built.reply
        tell(f"benchmark: {built.draft.command} ({reply.summary})")
        for name, text in (("checked", reply.checked), ("not covered", reply.not_covered)):
            if text:
                tell(f"{name}: {text}")
        files = ", ".join(map(readable, built.files))
        self._agree(
            f"Put {files} into {self.site.target.top} and seal them?",
            f"the benchmark was not confirmed; it is kept as {place}",
        )

    def _agree(self, question: str, refused: str) -> None:
        if self.options.yes:
            return
        import click

        if not click.confirm(question, default=True, err=True):
            raise UsageError(refused, "run `selfimprove init` again, or write goal.md yourself")


def tell(text: str) -> None:
    """A line, or several, of an agent's: nothing in them commands a terminal."""
    show("\n".join(_bounded(line) for line in clean(text).split("\n")))


def _bounded(line: str) -> str:
    """A line that says so where more of it is left out."""
    more = len(line) - WIDE
    return line if more <= 0 else f"{line[:WIDE]} [... {more} characters more]"


def asked(question: Question) -> str:
    """Put an agent's question to the person."""
    plain = replace(
        question,
        text=one_line(clean(question.text), WIDE),
        default=one_line(clean(question.default), WIDE),
        choices=tuple(one_line(clean(choice), WIDE) for choice in question.choices),
    )
    return ask(plain)


def in_terminal(options: InitOptions) -> bool:
    """Whether somebody is there to answer."""
    return sys.stdin.isatty() and not options.yes
