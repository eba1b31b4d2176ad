"""What a step may use, built in one visible place (`app.py`) from a checked Config."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime

from selfimprove.agents.base import Agent
from selfimprove.agents.purse import Purse
from selfimprove.agents.registry import make_agent, specs_for
from selfimprove.agents.skill_sources import Skills
from selfimprove.bench.measure import Bench
from selfimprove.config import Config
from selfimprove.contracts.agent import AgentRole
from selfimprove.harness import Harness
from selfimprove.process import StopToken
from selfimprove.publisher import Publisher
from selfimprove.store.attempts import Attempts
from selfimprove.store.ideabox import IdeaBox
from selfimprove.vcs.watch import Watch
from selfimprove.workshop import Workshop

LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Roster:
    """Which agent fills which role, one instance for each distinct spec."""

    def __init__(self, config: Config) -> None:
        self._settings = config.settings
        self._built: dict[str, Agent] = {}
        self.planners = [f"planner_{LETTERS[k]}" for k in range(config.settings.number_of_agents)]

    def agent(self, role: AgentRole, position: int = 0) -> Agent:
        """The agent for the `position`-th holder of a role."""
        spec = specs_for(self._settings, role, position + 1)[position]
        if spec not in self._built:
            self._built[spec] = make_agent(spec, self._settings)
        return self._built[spec]

    def specs(self) -> list[str]:
        """Every distinct spec that may be called, in role order."""
        count = self._settings.number_of_agents
        roles: tuple[tuple[AgentRole, int], ...] = (
            ("researcher", 1),
            ("planner", count),
            ("architect", 1),
            ("critic", 1),
            ("executor", count),
        )
        found = [spec for role, many in roles for spec in specs_for(self._settings, role, many)]
        return list(dict.fromkeys(found))


@dataclass(frozen=True)
class Deadline:
    """When the run must have ended, by the monotonic clock."""

    at: float | None = None
    began: datetime = field(default_factory=lambda: datetime.now(UTC))
    """When this start began, by the time of day as the record has it."""

    def left(self) -> float | None:
        """Seconds left; None where there is no end."""
        return None if self.at is None else self.at - time.monotonic()

    def given(self) -> float | None:
        """Seconds from this start to the end, whatever has passed; None where there is no end."""
        left = self.left()
        return None if left is None else left + (datetime.now(UTC) - self.began).total_seconds()

    def allows(self, seconds: float) -> bool:
        """Whether something that takes this long would still end in time."""
        left = self.left()
        return left is None or left >= seconds


@dataclass(frozen=True)
class Deps:
    """Everything a step reaches the world through."""

    config: Config
    harness: Harness
    skills: Skills
    """What each role is told, as the run's base commit has it."""
    roster: Roster
    workshop: Workshop
    bench: Bench
    holdout: Bench | None
    """The held-out benchmark, in no agent's reach."""
    publisher: Publisher
    attempts: Attempts
    ideas: IdeaBox
    watch: Watch
    """Of the user's repository."""
    stop: StopToken
    deadline: Deadline = field(default_factory=Deadline)
    purse: Purse = field(default_factory=Purse)
