"""Which agents there are: a dict from the scheme of a spec to the class that serves it."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import cast

from selfimprove.agents.base import Agent
from selfimprove.contracts.agent import AgentRole
from selfimprove.contracts.settings import CODING_CLIS, Settings
from selfimprove.errors import ConfigError

AGENTS = {
    "offline": "selfimprove.agents.offline:OfflineAgent",
    "command": "selfimprove.agents.command:CommandAgent",
    "anthropic": "selfimprove.agents.llm.agent:anthropic",
    "openai": "selfimprove.agents.llm.agent:openai",
    "openai-compatible": "selfimprove.agents.llm.agent:compatible",
    **dict.fromkeys(CODING_CLIS, "selfimprove.agents.cli_tools.agent:agent"),
    "scripted": "selfimprove.agents.scripted:load_scripted",
}
"""Scheme -> `module:class or function`, imported when asked for: what one needs is optional."""

USAGE = {
    "offline": "offline",
    "command": "command:SHELL WORDS",
    "anthropic": "anthropic:MODEL",
    "openai": "openai:MODEL",
    "openai-compatible": "openai-compatible:MODEL@URL",
    **{name: f"{name}[:MODEL]" for name in CODING_CLIS},
    "scripted": "scripted:MODULE:FUNCTION",
}
DEFAULT = "offline"


def make_agent(spec: str, settings: Settings) -> Agent:
    """Build the agent that a spec names; raises ConfigError listing the known ones."""
    scheme, _, argument = spec.partition(":")
    if scheme not in AGENTS:
        known = ", ".join(USAGE[name] for name in sorted(AGENTS))
        raise ConfigError(f"agents: no agent named {spec!r}", f"known: {known}")
    module, _, name = AGENTS[scheme].partition(":")
    build = getattr(import_module(module), name)
    if scheme in CODING_CLIS:
        build = partial(build, scheme)
    return cast(Agent, build(argument.strip(), settings))


def specs_for(settings: Settings, role: AgentRole, count: int = 1) -> list[str]:
    """Give the specs that fill a role `count` times; a list of specs is gone through in turn."""
    given = settings.agents.get(role, DEFAULT)
    specs = [given] if isinstance(given, str) else list(given) or [DEFAULT]
    return [specs[k % len(specs)] for k in range(count)]
