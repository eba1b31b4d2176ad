"""Loopback model servers: they speak the providers' protocols, misbehave when told, and count.

    with ModelServer(brain) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        ...
    assert server.ledger.calls == 7

A brain is a function from what a model is asked to what it says; `brains.py` has the parts of one
that fills every role of a rehearsal.
"""

from selfimprove.testing.models.said import Ledger, Prices, Say, ToolCall, Turn
from selfimprove.testing.models.server import ModelServer
from selfimprove.testing.models.trouble import Cut, Fail, Hang, Refuse, Trouble

__all__ = [
    "Cut",
    "Fail",
    "Hang",
    "Ledger",
    "ModelServer",
    "Prices",
    "Refuse",
    "Say",
    "ToolCall",
    "Trouble",
    "Turn",
]
