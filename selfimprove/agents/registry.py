"""Which agents there are: a dict from the scheme of a spec to the class that serves it."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from selfimprove.agents.base import Agent
from selfimprove.contracts.agent import AgentRole
from selfimprove.contracts.settings import Settings
from selfimprove.errors import ConfigError

AGENTS = {
    "offline": "selfimprove.agents.offline:OfflineAgent",
    "command": "selfimprove.agents.command:CommandAgent",
    "anthropic": "selfimprove.agents.llm.agent:anthropic",
    "openai": "selfimprove.agents.llm.agent:openai",
    "openai-compatible": "selfimprove.agents.llm.agent:compatible",
    "scripted": "selfimprove.agents.scripted:load_scripted",
}
"""Scheme -> `module:class or function`, imported when asked for: what one needs is optional."""

USAGE = {
    "offline": "offline",
    "command": "command:SHELL WORDS",
    "anthropic": "anthropic:MODEL",
    "openai": "openai:MODEL",
    "openai-compatible": "openai-compatible:MODEL@URL",
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
    return cast(Agent, getattr(import_module(module), name)(argument.strip(), settings))


def specs_for(settings: Settings, role: AgentRole, count: int = 1) -> list[str]:
    """Give the specs that fill a role `count` times; a list of specs is gone through in turn."""
    given = settings.agents.get(role, DEFAULT)
    specs = [given] if isinstance(given, str) else list(given) or [DEFAULT]
    return [specs[k % len(specs)] for k in range(count)]
