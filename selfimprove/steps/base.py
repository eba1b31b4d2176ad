"""What a step is: it reads State and Deps, yields drafts, and returns.

A step writes no document and knows no path. After each `yield` the draft stands in the journal and
the new state comes back, so whatever touches the world is announced before and reported after. A
resumed step starts over and skips what the state already has.
"""

from __future__ import annotations

from collections.abc import Callable, Generator

from selfimprove.contracts.agent import RunStatus
from selfimprove.contracts.envelope import Draft
from selfimprove.deps import Deps
from selfimprove.store.state import Round, State

Drafts = Generator[Draft, State, None]
Step = Callable[[State, Deps], Drafts]


class EndRun(Exception):  # noqa: N818 - not an error: the run ends in the middle of a step
    """The run must stop here, resumably: out of time or budget, or waiting in vain."""

    def __init__(self, status: RunStatus, reason: str) -> None:
        self.status: RunStatus = status
        self.reason = reason
        super().__init__(reason)


def round_of(state: State) -> Round:
    """The round under way."""
    assert state.round is not None
    return state.round


def topic(state: State, step: str, *parts: str) -> str:
    """A correlation id: `round_3/execution/executor_1/measure`."""
    return "/".join((f"round_{round_of(state).number}", step, *parts))
