"""The offline agent: finds, proposes and makes small proven kinds of change; no key, no network."""

from selfimprove.agents.offline.agent import OfflineAgent

__all__ = ["OfflineAgent"]
