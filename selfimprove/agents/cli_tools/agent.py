"""The agent that is a coding CLI: one process a question, in the room, with its own login."""

from __future__ import annotations

import time
import uuid
from dataclasses import replace
from typing import Any

from selfimprove.agents.base import AgentFailure, FailureKind, Workspace
from selfimprove.agents.cli_tools.account import (
    Account,
    account_of,
    no_account,
    one_at_a_time,
)
from selfimprove.agents.cli_tools.row import NO_RESULT, Question, Row, Said
from selfimprove.agents.cli_tools.table import ROWS
from selfimprove.agents.command import OUTPUT_CAP, ended_badly
from selfimprove.agents.extract import NotFoundError, last_object
from selfimprove.agents.llm.limits import turns_of
from selfimprove.agents.llm.prices import Price, price_of
from selfimprove.agents.schemas import check_output
from selfimprove.contracts.agent import AgentReply, AgentRequest, Usage
from selfimprove.contracts.settings import Settings
from selfimprove.errors import ConfigError
from selfimprove.process import Outcome, base_env
from selfimprove.room.job import Job

SESSIONS = uuid.UUID("5e1f1a9b-0000-5000-8000-000000000000")
"""The name space of sessions' UUIDs."""
KINDS: dict[str, FailureKind] = {
    "login": "unreachable",
    "away": "unreachable",
    "model": "exit",
    "other": "exit",
}


class CliAgent:
    """Asks the coding CLI that is installed on this machine."""

    needs_git = True
    in_room = True
    paid = True

    def __init__(self, row: Row, argument: str, settings: Settings) -> None:
        """Raises ConfigError where the argument is no model's name."""
        if argument.startswith("-") or any(char.isspace() for char in argument):
            raise ConfigError(
                f"agents: '{row.scheme}:{argument}' names no model", f"write {row.scheme}[:MODEL]"
            )
        self.row = row
        self.model = argument
        self._settings = settings

    @property
    def spec(self) -> str:
        """How it is written in settings."""
        return f"{self.row.scheme}:{self.model}" if self.model else self.row.scheme

    def account(self) -> Account | None:
        """Who pays; None where nobody is logged in."""
        return account_of(self.row, self._settings, base_env())

    @property
    def by_token(self) -> bool:
        """Whether its tokens cost dollars."""
        account = self.account()
        return account is not None and account.by_token

    @property
    def price(self) -> Price | None:
        """Of the model that is named; None where none is, or nobody has said its price."""
        return self._price(self.model)

    @property
    def priced(self) -> bool:
        """Whether its dollars can be told."""
        return not self.by_token or self.price is not None

    def ask(self, request: AgentRequest, workspace: Workspace) -> AgentReply:
        """Ask the CLI in the workspace's tree; its failures carry what they cost."""
        workspace.stop.raise_if_set()
        account = self.account()
        if account is None:
            raise AgentFailure("unreachable", "; ".join(no_account(self.row, self._settings)))
        question = self._question(request, workspace)
        outcome, said = self.call(question, request, workspace, account)
        usage = self.usage(said, outcome, account)
        who = f"{request.agent_id} ({self.spec})"
        unsaid = said.error in ("", NO_RESULT)
        ended_badly(who, outcome, workspace.timeout, usage, exits=unsaid)
        if said.error:
            raise self._failure(who, said, usage)
        try:
            answer = said.output or last_object(said.text.encode("utf-8", "surrogatepass"))[0]
            output = check_output(request, answer)
        except NotFoundError as error:
            raise AgentFailure("output", f"{who}: {error}", usage) from None
        except AgentFailure as failure:
            raise AgentFailure(failure.kind, failure.message, usage) from None
        return AgentReply(output=output, usage=usage, transcript=said.transcript)

    def call(
        self, question: Question, request: AgentRequest, workspace: Workspace, account: Account
    ) -> tuple[Outcome, Said]:
        """Run it once; raises Stopped. A login that is shared is used by one at a time."""
        row, environ = self.row, base_env()
        given = {name: environ[name] for name in row.variables if name in environ}
        question = replace(question, model=self.model, given=given)
        job = Job(
            command=(row.program, *row.arguments(question)),
            tree=workspace.layers or workspace.tree,
            profile="agent",
            timeout=workspace.timeout,
            env={**given, **row.environment(question), **account.variables},
            stdin=request.prompt.encode("utf-8", "surrogateescape"),
            read_only_tree=not workspace.writable,
            log=workspace.log,
            output_cap=OUTPUT_CAP,
            alone=True,
            shares=account.shares,
        )
        with one_at_a_time(account, workspace.stop):
            outcome = workspace.room.run(job)
        workspace.stop.raise_if_set()
        said = outcome.stdout if outcome.stdout.strip() else outcome.stderr
        return outcome, row.read(said)

    def probe(self, seconds: float) -> Usage | None:
        """Ask it a word in a room, or ConfigError: not there, not logged in, no such model."""
        from selfimprove.agents.cli_tools.probing import probe

        return probe(self, self._settings, seconds)

    def _question(self, request: AgentRequest, workspace: Workspace) -> Question:
        plan: dict[str, Any] = request.context.get("plan") or {}
        settings = self._settings
        guards = (guard.command.strip() for guard in settings.guards)
        commands = (*guards, *(each.strip() for each in settings.agent_commands))
        return Question(
            session=str(uuid.uuid5(SESSIONS, request.session_id)),
            schema=request.output_schema,
            writable=workspace.writable,
            commands=tuple(dict.fromkeys(commands)) if workspace.writable else (),
            files=tuple(plan.get("target_files") or ()) if workspace.writable else (),
            turns=turns_of(request.role),
        )

    def _price(self, model: str) -> Price | None:
        provider = self.row.provider
        if not provider and model not in self._settings.prices:
            provider, _, model = model.partition("/")
        found = price_of(provider, model, self._settings) if model else None
        # what is told is the sum of many requests: no request by itself need have been a long one
        return None if found is None else Price(found.usual, source=found.source)

    def usage(self, said: Said, outcome: Outcome, account: Account) -> Usage:
        """What a call cost: dollars by the tokens and our table of prices, no dollars where a
        subscription pays.
        """
        tokens = list(said.tokens.values())
        usd = 0.0
        for model, each in said.tokens.items() if account.by_token else ():
            price = self._price(model or self.model)
            usd += price.usd(each) if price else 0.0
        return Usage(
            input_tokens=sum(each.input for each in tokens),
            output_tokens=sum(each.output for each in tokens),
            usd=usd,
            duration_s=round(outcome.duration_s, 3),
            cache_read_tokens=sum(each.cache_read for each in tokens) or None,
            cache_write_tokens=sum(each.cache_write for each in tokens) or None,
        )

    def _failure(self, who: str, said: Said, usage: Usage) -> AgentFailure:
        wait = None if said.until is None else max(0.0, said.until - time.time())
        kind = "output" if said.error == NO_RESULT else KINDS[said.trouble]
        return AgentFailure(kind, f"{who}: {said.error}", usage, wait)


def agent(scheme: str, argument: str, settings: Settings) -> CliAgent:
    """Build the agent of one row of the table."""
    return CliAgent(ROWS[scheme], argument, settings)
