"""Tries a coding CLI before anything is built on it: there, logged in, and it answers."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from selfimprove.agents.base import Workspace
from selfimprove.agents.cli_tools.account import no_account
from selfimprove.agents.cli_tools.row import Question, Row, Said
from selfimprove.contracts.agent import AgentRequest, Usage
from selfimprove.contracts.settings import Settings
from selfimprove.errors import ConfigError
from selfimprove.process import Child, Outcome, StopToken, base_env, run_child
from selfimprove.room.job import RoomSpec
from selfimprove.room.room import Room

if TYPE_CHECKING:
    from selfimprove.agents.cli_tools.agent import CliAgent

LEAST_S = 60.0
"""A program of its own, which tries again by itself, takes longer than one request."""
VERSION_S = 20.0
WORD = "This is a test of the connection. Answer with the one word: ready"


def program_of(row: Row) -> str:
    """Where its program is; empty where it is not on PATH."""
    return shutil.which(row.program, path=base_env().get("PATH")) or ""


def version_of(row: Row) -> str:
    """What the program says its version is; empty where it says nothing."""
    with tempfile.TemporaryDirectory(prefix="selfimprove-") as folder:
        env = {"PATH": base_env().get("PATH", ""), "HOME": folder}
        argv = (program_of(row), "--version")
        outcome = run_child(Child(argv, Path(folder), env, VERSION_S))
    lines = outcome.stdout.decode("utf-8", "replace").split("\n")
    told = [line.strip() for line in lines if any(char.isdigit() for char in line)]
    return told[-1][:60] if outcome.exit_code == 0 and told else ""


def probe(agent: CliAgent, settings: Settings, seconds: float) -> Usage:
    """Ask one word in a room of its own; raises ConfigError. A limit or an outage is no mistake:
    the run waits for its end.
    """
    row = agent.row
    if not program_of(row):
        raise ConfigError(
            f"agents: {agent.spec}: the program `{row.program}` is not on PATH",
            f"install it ({row.install}), or choose another agent",
        )
    account = agent.account()
    if account is None:
        what, remedy = no_account(row, settings)
        raise ConfigError(f"agents: {what}", remedy)
    with trial(settings, max(seconds, LEAST_S)) as workspace:
        outcome, said = agent.call(Question(tools=False), _request(), workspace, account)
    _judge(agent, outcome, said, max(seconds, LEAST_S))
    return agent.usage(said, outcome, account)


@contextmanager
def trial(settings: Settings, seconds: float) -> Iterator[Workspace]:
    """An empty tree in a room like a run's, for one question."""
    with tempfile.TemporaryDirectory(prefix="selfimprove-") as name:
        folder = Path(name)
        for part in ("target", "tree", "cache"):
            (folder / part).mkdir()
        stop = StopToken()
        spec = RoomSpec(folder / "target", "", folder / "cache", sandbox=settings.sandbox)
        room = Room(spec, stop)
        yield Workspace(folder / "tree", False, room, stop, seconds, folder / "log")


def _request() -> AgentRequest:
    return AgentRequest(
        role="researcher",
        round=0,
        agent_id="probe",
        session_id="probe",
        prompt=WORD,
        context={},
        output_schema={},
    )


def _judge(agent: CliAgent, outcome: Outcome, said: Said, seconds: float) -> None:
    row = agent.row
    if outcome.timed_out:
        raise ConfigError(
            f"agents: {agent.spec} gave no answer to a word within {seconds:g} s",
            f"try `{row.program}` by hand, and the network",
        )
    if said.error and said.trouble == "login":
        raise ConfigError(
            f"agents: {agent.spec}: the login is refused: {said.error}", row.login.how
        )
    if said.error and said.trouble == "model":
        raise ConfigError(
            f"agents: {agent.spec}: {said.error}", "check the model's name, and try again"
        )
    if said.error and said.trouble == "other":
        last = outcome.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        more = f" ({last[0][:300]})" if last else ""
        raise ConfigError(
            f"agents: {agent.spec} cannot be asked: {said.error}{more}",
            f"try `{row.program}` by hand, then start again",
        )
