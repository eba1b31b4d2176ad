"""Reads a role's instructions from skills/<role>/SKILL.md, in the Agent Skills format."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from selfimprove import resources
from selfimprove.contracts.agent import AgentRole
from selfimprove.errors import ToolError

_PARTS = re.compile(r"\A---\n(?P<front>.*?)\n---\n(?P<body>.*)\Z", re.S)
_FIELD = re.compile(r"^([a-z][a-z-]*):[ \t]+(.+)$", re.M)


@dataclass(frozen=True)
class Skill:
    """What a role is told to do, and how."""

    name: str
    description: str
    instructions: str


@cache
def load_skill(role: AgentRole) -> Skill:
    """Read the skill of a role."""
    path = f"skills/{role}/SKILL.md"
    return parse_skill(resources.text(path), path)


def parse_skill(text: str, path: str) -> Skill:
    """Read a SKILL.md: front matter of one-line fields, then the instructions."""
    parts = _PARTS.match(text.replace("\r\n", "\n"))
    fields = dict(_FIELD.findall(parts["front"])) if parts else {}
    if parts is None or not {"name", "description"} <= set(fields):
        raise ToolError(
            f"{path}: no front matter with name and description", "install selfimprove again"
        )
    return Skill(fields["name"].strip(), fields["description"].strip(), parts["body"].strip())
