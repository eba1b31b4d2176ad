"""What `doctor` says of the coding CLIs: which are installed, who pays for them, which answer."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

from selfimprove.agents.cli_tools.agent import CliAgent
from selfimprove.agents.cli_tools.probing import program_of, version_of
from selfimprove.agents.cli_tools.table import ROWS
from selfimprove.contracts.settings import Settings
from selfimprove.errors import ConfigError
from selfimprove.setup.checks import PROBE_S

Row = tuple[Literal["ok", "note"], str]


def coding_clis(settings: Settings, *, ask: bool) -> Iterator[Row]:
    """A line for each that is installed, and one for the others; `ask` asks each a word."""
    agents = [CliAgent(row, "", settings) for row in ROWS.values()]
    there = [agent for agent in agents if program_of(agent.row)]
    with ThreadPoolExecutor(max(1, len(there))) as pool:
        yield from pool.map(lambda agent: _told(agent, ask=ask), there)
    missing = [agent.spec for agent in agents if agent not in there]
    if missing:
        yield "note", f"not installed: {', '.join(missing)}"


def _told(agent: CliAgent, *, ask: bool) -> Row:
    about = f"{agent.spec}: {version_of(agent.row) or 'it does not say its version'}"
    account = agent.account()
    if account is None:
        return "note", f"{about}; nobody is logged in: {agent.row.login.how}"
    about = f"{about}; paid for by {account.words}"
    if not ask:
        return "ok", f"{about}; `doctor --full` asks it a word"
    try:
        agent.probe(PROBE_S)
    except ConfigError as error:
        return "note", f"{about}; it does not work: {error}"
    return "ok", f"{about}; it answers"
