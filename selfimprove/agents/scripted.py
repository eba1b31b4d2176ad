"""The scripted agent: a Python function that answers, for tests and dry runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from selfimprove.agents.base import AgentFailure, Workspace
from selfimprove.agents.schemas import check_output
from selfimprove.contracts.agent import AgentReply, AgentRequest, Usage
from selfimprove.contracts.settings import Settings
from selfimprove.errors import ConfigError

Script = Callable[[AgentRequest, Path], "dict[str, Any]"]
"""From the request and the agent's tree to the answer; it may edit the tree of an executor."""


class ScriptedAgent:
    """Answers with what its function returns; the function may raise AgentFailure."""

    def __init__(self, function: Script, spec: str = "scripted", *, needs_git: bool = False):
        self.function = function
        self.spec = spec
        self.needs_git = needs_git
        self.in_room = False

    def ask(self, request: AgentRequest, workspace: Workspace) -> AgentReply:
        """Call the function and check its answer as any agent's."""
        workspace.stop.raise_if_set()
        started = time.monotonic()
        output = self.function(request, workspace.tree)
        workspace.stop.raise_if_set()
        duration = time.monotonic() - started
        if duration > workspace.timeout:
            took = f"{request.agent_id} took {duration:.1f} s of {workspace.timeout:g} s"
            raise AgentFailure("timeout", took)
        checked = check_output(request, output)
        return AgentReply(output=checked, usage=Usage(duration_s=round(duration, 3)))


def load_scripted(argument: str, _settings: Settings) -> ScriptedAgent:
    """Build the agent that `scripted:MODULE:FUNCTION` names."""
    module, _, name = argument.partition(":")
    try:
        function = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            f"agents: 'scripted:{argument}': {error}", "write scripted:MODULE:FUNCTION"
        ) from None
    return ScriptedAgent(function, f"scripted:{argument}")
