"""Reads skills/<id>/SKILL.md, in the Agent Skills format: what a role is told to do, and how."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import Any, Literal

from selfimprove import resources
from selfimprove.contracts.agent import AgentRole
from selfimprove.contracts.skill import SkillFront, SkillManifest
from selfimprove.errors import ConfigError

FILE = "SKILL.md"
LARGEST = 64 * 1024
"""Bytes: every prompt of the role begins with all of it."""
ASKED: tuple[AgentRole, ...] = ("researcher", "planner", "architect", "critic", "executor")
"""The roles that a run asks."""
AT_SETUP: tuple[AgentRole, ...] = ("goal-clarifier", "benchmark-builder")
"""The roles that `init` asks, where they are given to agents; other skills are there to be read."""
Source = Literal["bundled", "installed", "repository"]

_PARTS = re.compile(r"\A---[ \t]*\n(?P<front>.*?)\n---[ \t]*\n(?P<body>.*)\Z", re.S)


@dataclass(frozen=True)
class Skill:
    """What a role is told to do, and how."""

    manifest: SkillManifest
    description: str
    instructions: str
    source: Source
    place: str
    """Where it was read, for a person: a path, or a package and a path."""
    sha256: str
    """Of the whole file."""

    @property
    def id(self) -> str:
        """The role, or the skill's own name."""
        return self.manifest.id

    @property
    def asked(self) -> bool:
        """Whether a run asks for it."""
        return self.id in ASKED

    @property
    def asked_by(self) -> str:
        """The command that asks for it, or `nothing`."""
        return "run" if self.asked else "init" if self.id in AT_SETUP else "nothing"

    def document(self) -> dict[str, Any]:
        """This skill as plain JSON values, less its instructions."""
        return {
            **self.manifest.document(),
            "description": self.description,
            "source": self.source,
            "place": self.place,
            "sha256": self.sha256,
            "asked_by_a_run": self.asked,
            "asked_by": self.asked_by,
        }


@cache
def load_skill(role: AgentRole) -> Skill:
    """The bundled skill of a role."""
    path = f"skills/{role}/{FILE}"
    return parse_skill(resources.text(path).encode(), path)


def bundled() -> list[Skill]:
    """The skills that come with this program, in the order in which their roles are asked."""
    found = sorted(path.parent.name for path in resources.folder("skills").glob(f"*/{FILE}"))
    order = {role: place for place, role in enumerate((*ASKED, *AT_SETUP))}
    last = len(order)
    names: Iterable[Any] = sorted(found, key=lambda name: order.get(name, last))
    return [load_skill(name) for name in names]


def parse_skill(data: bytes, place: str, source: Source = "bundled") -> Skill:
    """Read a SKILL.md; raises ConfigError naming file, field and remedy.

    `place` ends in the skill's folder and `SKILL.md`.
    """
    if len(data) > LARGEST:
        raise ConfigError(
            f"{place}: {len(data):,} bytes, and at most {LARGEST:,} may be", "make it shorter"
        )
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise ConfigError(f"{place}: not UTF-8", "save the file as UTF-8") from None
    parts = _PARTS.match(text)
    if parts is None:
        raise ConfigError(
            f"{place}: no front matter",
            "begin with a line '---', name, description and metadata, and another '---'",
        )
    front = SkillFront.parse(_front_matter(parts["front"], place), place)
    folder = place.replace("\\", "/").split("/")[-2]
    for field, value in (("name", front.name), ("metadata.id", front.metadata.id)):
        if value != folder:
            raise ConfigError(f"{place}: {field}: it is {value!r}", f"write {folder!r}: the folder")
    if not parts["body"].strip():
        raise ConfigError(f"{place}: no instructions", "write them below the front matter")
    return Skill(
        manifest=front.metadata,
        description=" ".join(front.description.split()),
        instructions=parts["body"].strip(),
        source=source,
        place=place,
        sha256=sha256(data).hexdigest(),
    )


def _front_matter(text: str, place: str) -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        return YAML(typ="safe", pure=True).load(text)
    except (YAMLError, ValueError, RecursionError) as error:
        what = str(getattr(error, "problem", None) or error).splitlines()[0]
        raise ConfigError(
            f"{place}: front matter: not YAML: {what}", "quote what holds a colon"
        ) from None
