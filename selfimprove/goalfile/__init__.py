"""goal.md: reading it as a person writes it, and writing it."""

from selfimprove.goalfile.parse import find_goal, parse_goal, read_goal, read_text
from selfimprove.goalfile.render import checked_copy, render_goal
from selfimprove.goalfile.slug import slugify
from selfimprove.resources import text as _resource


def goal_template() -> str:
    """A goal.md to fill in."""
    return _resource("templates/goal.md")


__all__ = [
    "checked_copy",
    "find_goal",
    "goal_template",
    "parse_goal",
    "read_goal",
    "read_text",
    "render_goal",
    "slugify",
]
