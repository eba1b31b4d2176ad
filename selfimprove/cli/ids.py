"""What a person may name: round_3, round_3_planner_b, round_3_executor_2, merge_3."""

from __future__ import annotations

import re
from dataclasses import dataclass

from selfimprove.errors import UsageError

_ID = re.compile(
    r"(?:round_(?P<round>\d+)(?:_(?P<agent>[a-z]+(?:_[a-z0-9]+)?))?|merge_(?P<merge>\d+))"
)
EXAMPLES = "round_3, round_3_planner_b, round_3_executor_2 or merge_3"


@dataclass(frozen=True)
class Named:
    """A round, or something of it."""

    round: int
    kind: str
    """`round`, `planner`, `executor`, `merge`, or another agent's role."""
    agent: str = ""
    """`planner_b`, `executor_2`, `researcher`."""


def parse_id(text: str) -> Named:
    """Read an id; raises UsageError."""
    found = _ID.fullmatch(text.strip())
    if not found:
        raise UsageError(f"{text!r} names nothing", f"give {EXAMPLES}")
    if found["merge"]:
        return Named(int(found["merge"]), "merge")
    agent = found["agent"] or ""
    return Named(int(found["round"]), agent.partition("_")[0] or "round", agent)


def looks_like_id(text: str) -> bool:
    """Whether a word is an id, not a path."""
    return bool(_ID.fullmatch(text))
