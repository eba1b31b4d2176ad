"""`selfimprove skills`: what each role is told, and where that comes from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from selfimprove.cli.common import (
    Where,
    echo_json,
    intended,
    json_option,
    print_table,
    repo_argument,
    where_options,
)
from selfimprove.cli.ending import tell
from selfimprove.errors import TargetError, UsageError

if TYPE_CHECKING:
    from selfimprove.agents.skill_sources import Skills


@click.command("skills")
@repo_argument
@where_options
@click.option("--show", metavar="ID", help="Print one: its manifest and its instructions.")
@json_option
def command(where: Where, show: str | None, as_json: bool) -> None:
    """What each role is told: the skills bundled, of installed packages and of the repository.

    A repository brings its own, or overrides one by its id, in .selfimprove/skills/ID/SKILL.md. It
    counts as it is committed where the run began, and the trust screen names it.

    \b
    Example:
      selfimprove skills
      selfimprove skills --show planner path/to/repository
    """
    skills = skills_at(where)
    if show is None:
        _list(skills, as_json=as_json)
        return
    if show not in skills:
        raise UsageError(f"no skill {show!r}", f"there are {', '.join(skills)}")
    skill = skills[show]
    if as_json:
        echo_json({**skill.document(), "instructions": skill.instructions})
        return
    from selfimprove.report.plain import clean

    told = skill.document()
    for name, value in told.items():
        shown = ", ".join(value) if isinstance(value, list) else str(value)
        click.echo(f"{name}: {clean(shown)}")
    click.echo(f"\n{clean(skill.instructions)}")


def skills_at(where: Where) -> Skills:
    """The skills of the run here, or of one that would start at HEAD; elsewhere, all but a
    repository's own."""
    from selfimprove.agents.skill_sources import installed, joined, registry
    from selfimprove.agents.skills import bundled
    from selfimprove.store.record import load_state
    from selfimprove.vcs.target import open_target

    try:
        layout = intended(where.repo, where.topic, where.root)
    except TargetError:
        if where.repo != Path():
            raise
        return joined(bundled(), installed())
    target = open_target(where.repo)
    facts = load_state(layout).facts if layout.journal.is_dir() else None
    commit = facts.base_commit if facts else target.head
    skills = registry(target.git, commit)
    for path in _unread(target.top, skills):
        tell("note", f"{path} is not read: at {commit[:12]} it is not committed as it stands")
    return skills


def _unread(top: Path, skills: Skills) -> Iterator[str]:
    """Skills of the working tree that are not those of the commit."""
    from hashlib import sha256

    from selfimprove.places import SKILLS

    committed = {skill.place: skill.sha256 for skill in skills.values()}
    for path in sorted((top / SKILLS).glob("*/SKILL.md")):
        name = path.relative_to(top).as_posix()
        if sha256(path.read_bytes()).hexdigest() != committed.get(name):
            yield name


def _list(skills: Skills, *, as_json: bool) -> None:
    if as_json:
        echo_json([skill.document() for skill in skills.values()])
        return
    from rich.markup import escape
    from rich.table import Table

    from selfimprove.report.plain import clean

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("skill", "gives", "from", "asked by", "what it does"):
        table.add_column(name, overflow="fold")
    for skill in skills.values():
        place = skill.source if skill.source == "bundled" else f"{skill.source}: {skill.place}"
        about = (skill.manifest.artifact_kind, place, skill.asked_by, skill.description)
        table.add_row(skill.id, *(escape(clean(each)) for each in about))
    print_table(table)
