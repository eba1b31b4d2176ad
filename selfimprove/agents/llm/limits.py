"""How much one question to a model may come to."""

from __future__ import annotations

from selfimprove.contracts.agent import AgentRole

MAX_TOKENS = 16_000
"""Of one answer of a model, its tool calls included."""
MOST_INPUT = 200_000
"""Tokens that one request may read; a conversation that has grown beyond is ended."""
TURNS: dict[AgentRole, int] = {"executor": 80, "benchmark-builder": 80}
USUAL_TURNS = 40


def turns_of(role: AgentRole) -> int:
    """Requests that one question to a role may take."""
    return TURNS.get(role, USUAL_TURNS)
