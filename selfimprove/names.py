"""The refs of a run, by topic, and the names of its agents and messages."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class RefNames:
    """Branches and tags of one topic, as `interface.md` names them; short names, not full refs."""

    topic: str
    slug: str

    @property
    def improve(self) -> str:
        """The improvement branch."""
        return (
            f"improve/{self.slug}"
            if self.topic == "default"
            else f"improve/{self.topic}-{self.slug}"
        )

    def experiment(self, number: int, executor_id: str) -> str:
        """An experiment branch, in the quarantine alone."""
        return f"experiment/{self._topic()}round_{number}_{executor_id}"

    def archive(self, number: int, executor_id: str) -> str:
        """The tag that keeps a measured loser."""
        return f"archive/{self._topic()}round_{number}_{executor_id}"

    def _topic(self) -> str:
        return "" if self.topic == "default" else f"{self.topic}/"


def record_ref(topic: str) -> str:
    """The full ref under which a run's documents are kept in its target; no branch."""
    return f"refs/selfimprove/{topic}"


def branch(name: str) -> str:
    """A branch's full ref."""
    return f"refs/heads/{name}"


def tag(name: str) -> str:
    """A tag's full ref."""
    return f"refs/tags/{name}"


def parent_of(correlation_id: str) -> str:
    """The round and step of `round_3/planning/planner_a`; `setup` for what is of no round."""
    first, *rest = correlation_id.split("/")
    return "/".join((first, *rest[:1])) if first.startswith("round_") else first


def role_of(agent_id: str) -> str:
    """The role of `planner_a`, `critic_1`, `researcher`."""
    return re.sub(r"_([a-z]|\d+)$", "", agent_id)
