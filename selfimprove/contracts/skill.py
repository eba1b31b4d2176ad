"""What a SKILL.md says of itself: front matter in the Agent Skills format, with our manifest."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from selfimprove.contracts.base import Record


def _words(value: Any) -> Any:
    """A list, or the words of a string: the format's own `metadata` holds strings alone."""
    return value.replace(",", " ").split() if isinstance(value, str) else value


SkillId = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)]
Word = Annotated[str, Field(pattern=r"^[a-z0-9]+([_-][a-z0-9]+)*$", max_length=40)]
Words = Annotated[tuple[Word, ...], BeforeValidator(_words), Field(min_length=1)]


class SkillManifest(Record):
    """What the registry knows of a skill; fields that others keep in `metadata` are theirs."""

    model_config = Record.model_config | {"extra": "ignore"}

    id: SkillId
    """The role that it tells what to do, or a name of its own; its folder is called the same."""
    artifact_kind: Word
    """What comes of it: brief, plan, advice, critique, diff, goal, benchmark."""
    accepted_inputs: Words
    """The documents that it works from."""
    capability_tags: Words
    """What it can do, in words to choose by."""


class SkillFront(Record):
    """The front matter of a SKILL.md, as far as it is read here."""

    model_config = Record.model_config | {"extra": "ignore"}

    name: SkillId
    description: Annotated[str, Field(pattern=r"\S", max_length=1024)]
    """What it does and when it is used."""
    metadata: SkillManifest
