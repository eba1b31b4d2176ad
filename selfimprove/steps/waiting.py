"""Waiting for agents that cannot be reached: with growing pauses, then the run stops resumably."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from selfimprove.agents.base import AgentFailure
from selfimprove.contracts.envelope import Draft, control
from selfimprove.deps import Deps
from selfimprove.steps.base import EndRun, round_of
from selfimprove.store.state import State

FIRST_PAUSE_S, LONGEST_PAUSE_S = 30.0, 900.0
"""Between two attempts: each pause is twice the one before."""


@dataclass
class Patience:
    """How often and how long the questions asked side by side have been waited for."""

    pauses: int = 0
    waited: float = 0.0


def outwait(
    state: State, deps: Deps, patience: Patience, away: Sequence[tuple[Any, AgentFailure]]
) -> Generator[Draft, State, State]:
    """Wait before whoever is away is asked again; raises EndRun where that is not worth it."""
    told = "; ".join(dict.fromkeys(str(failure) for _, failure in away))
    pause = _pause(patience, [failure for _, failure in away])
    until = (datetime.now(UTC) + timedelta(seconds=pause)).isoformat(timespec="seconds")
    until = until.replace("+00:00", "Z")
    about = f"round_{round_of(state).number}"
    state = yield control(about, "waiting", reason=told, until=until)
    if patience.waited + pause > deps.config.settings.agent_wait:
        raise EndRun("waiting", told)
    if not deps.deadline.allows(pause):
        raise EndRun("time", f"the time given ends before an agent is back: {told}")
    began = time.monotonic()
    deps.stop.wait(pause)
    deps.stop.raise_if_set()
    seconds = time.monotonic() - began
    patience.pauses += 1
    patience.waited += seconds
    return (yield control(about, "waited", seconds=round(seconds, 3)))


def _pause(patience: Patience, failures: Sequence[AgentFailure]) -> float:
    """Seconds: what the last to be back asked for, or else each time twice as long."""
    said = [failure.retry_after for failure in failures if failure.retry_after is not None]
    grown: float = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** min(patience.pauses, 10))
    return max([grown, *said])
