"""An edited goal.md: what is taken up at the next start, and what makes it another run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from selfimprove.contracts.envelope import Envelope
from selfimprove.errors import ConfigError
from selfimprove.goalfile import read_goal
from selfimprove.site import Site
from selfimprove.store.state import State


def refuse_other_metric(site: Site, state: State) -> None:
    """Raise ConfigError where the goal now measures something else: scores would not compare."""
    facts = state.facts
    if facts is None or state.baseline is None:
        return
    direction = site.config.settings.benchmark_direction or site.goal.metric.direction
    for what, was, now in (
        ("metric", facts.metric, site.goal.metric.name),
        ("direction", facts.direction, direction),
    ):
        if was != now:
            raise ConfigError(
                f"{site.goal_path}: the {what} was {was!r} when this run was set up, now {now!r}: "
                "its scores cannot be compared",
                "put it back, or begin a run of its own with --topic NAME",
            )


def edited(site: Site, state: State) -> bool:
    """Whether goal.md is another than at the last start."""
    return bool(state.goal_sha256) and state.goal_sha256 != site.goal.sha256


class GoalWatch:
    """Mentions an edit of goal.md while a run goes on; it is taken up at the next start."""

    def __init__(self, site: Site, say: Callable[[str], None]) -> None:
        self._path: Path = site.goal_path
        self._seen = site.goal.sha256
        self._say = say

    def __call__(self, envelope: Envelope, _: State) -> None:
        """An observer: looks once a step."""
        if envelope.type != "control" or envelope.payload.get("event") != "step_started":
            return
        try:
            now = read_goal(self._path).sha256
        except ConfigError:
            now = "unreadable"
        if now != self._seen:
            self._seen = now
            self._say(f"{self._path} was edited: it is taken up at the next start")
