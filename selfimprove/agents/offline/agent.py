"""The agent that needs no key and no network: it fills every role from what it can read itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from selfimprove.agents.base import AgentFailure, Workspace
from selfimprove.agents.offline import executor, planner, researcher, reviewer
from selfimprove.agents.offline.scan import Scanner
from selfimprove.agents.schemas import check_output
from selfimprove.contracts.agent import AgentReply, AgentRequest, AgentRole, Usage

if TYPE_CHECKING:
    from selfimprove.contracts.settings import Settings

Role = Callable[[Scanner, AgentRequest, Workspace], dict[str, Any]]
ROLES: dict[AgentRole, Role] = {
    "researcher": researcher.brief,
    "planner": planner.propose,
    "architect": reviewer.architect,
    "critic": reviewer.critic,
    "executor": executor.execute,
}
SHARED = Scanner()
"""What was found in files, by their content: the same for every agent of the process."""


@dataclass(frozen=True)
class OfflineAgent:
    """Finds tunables and codemods, proposes one at a time, and makes the edit."""

    argument: str = ""
    settings: Settings | None = None
    scanner: Scanner = field(default_factory=lambda: SHARED, repr=False, compare=False)

    @property
    def spec(self) -> str:
        """How it is written in settings."""
        return "offline"

    @property
    def needs_git(self) -> bool:
        """It edits files and asks git nothing."""
        return False

    @property
    def in_room(self) -> bool:
        """It reads and writes files from this process."""
        return False

    def ask(self, request: AgentRequest, workspace: Workspace) -> AgentReply:
        """Answer a request of any role; raises AgentFailure where it has nothing to say."""
        workspace.stop.raise_if_set()
        role = ROLES.get(request.role)
        if role is None:
            raise AgentFailure("output", f"the offline agent cannot fill the role {request.role}")
        started = time.monotonic()
        output = check_output(request, role(self.scanner, request, workspace))
        return AgentReply(output=output, usage=Usage(duration_s=time.monotonic() - started))
