"""What an agent is: it is asked one question in a tree, and answers with one JSON object.

A backend is one class in one file, named in `registry.py` and built as
`Class(argument, settings)`, where the argument is what follows the scheme in its spec
(`command:./agent.py --fast` gives `./agent.py --fast`; `offline` gives the empty string).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from selfimprove.contracts.agent import AgentReply, AgentRequest, Usage

if TYPE_CHECKING:
    from selfimprove.agents.purse import Tab
    from selfimprove.process import StopToken
    from selfimprove.room.job import Layered
    from selfimprove.room.room import Room

FailureKind = Literal["exit", "timeout", "output", "unreachable", "crash", "budget"]


class AgentFailure(Exception):  # noqa: N818 - a failed agent is data to the loop, not an error
    """An agent that gave no usable answer; it is asked once more, then left out of the round.

    `exit`: it ended with a non-zero code. `timeout`: it met `agent_timeout`. `output`: its answer
    does not fit. `unreachable`: its provider is out, or a limit or its login keeps it away; the run
    waits for it. `crash`: it died of a signal. `budget`: its next request might have cost more than
    is left; it is not asked again.
    """

    def __init__(
        self,
        kind: FailureKind,
        message: str,
        usage: Usage | None = None,
        retry_after: float | None = None,
    ) -> None:
        """`usage` is what was paid for nothing, where that is known."""
        self.kind: FailureKind = kind
        self.message = message
        self.usage = usage
        self.retry_after = retry_after
        """Seconds after which an unreachable one is said to be back."""
        super().__init__(message)


@dataclass(frozen=True)
class Workspace:
    """Where an agent works on one request."""

    tree: Path
    """The agent's tree: for an executor its own, for the rest one of the incumbent to read."""
    writable: bool
    """True for executors alone."""
    room: Room
    stop: StopToken
    timeout: float
    """Seconds the agent may take."""
    log: Path
    """Where what it says besides its answer goes."""
    commits: str = ""
    """The commits that led to the tree, a line each, newest first."""
    tab: Tab | None = None
    """Where an agent that makes several requests reserves and settles each of them."""
    layers: Layered | None = None
    """What the room shows as the tree, where an executor edits a layer over `tree`."""


@runtime_checkable
class Probed(Protocol):
    """An agent that can be tried before anything is paid for."""

    def probe(self, seconds: float) -> Usage | None:
        """Raise ConfigError where its key, its model or its address is wrong; else what it cost."""
        ...


class Agent(Protocol):
    """Whatever fills a role. Asked from several threads at once, so it keeps no state of a call."""

    @property
    def spec(self) -> str:
        """How it is written in settings, such as `offline` or `command:./agent.py`."""
        ...

    @property
    def needs_git(self) -> bool:
        """True where an executor's tree should be a clone, not just files."""
        ...

    @property
    def in_room(self) -> bool:
        """True where it touches its tree in the room alone, so that layers can make it up."""
        ...

    def ask(self, request: AgentRequest, workspace: Workspace) -> AgentReply:
        """Answer, or raise AgentFailure; raises Stopped where a person stopped the run.

        The reply's output has been through `schemas.check_output`, which fills what the
        orchestrator owns: a plan comes back whole.
        """
        ...
