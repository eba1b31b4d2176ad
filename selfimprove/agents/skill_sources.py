"""The registry of skills: those bundled, those of installed packages, the target's own.

A later source overrides an earlier one by id. A target's own are read from a commit, the one that
its run began from, never from files: nobody who is told by them can change them meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path

from selfimprove.agents.skills import FILE, Skill, bundled, parse_skill
from selfimprove.errors import ConfigError
from selfimprove.places import SKILLS
from selfimprove.vcs.git import Git
from selfimprove.vcs.snapshots import listed

GROUP = "selfimprove.skills"
"""Entry points of this group name a package whose folder holds `<id>/SKILL.md`."""

Skills = Mapping[str, Skill]


def registry(git: Git, commit: str) -> Skills:
    """Every skill by its id, as a run that began from this commit has them; raises ConfigError."""
    return joined(bundled(), installed(), in_commit(git, commit))


def joined(*sources: Iterable[Skill]) -> Skills:
    """Skills by id, later sources before earlier ones; one must give what it stands in for gave."""
    found: dict[str, Skill] = {}
    for source in sources:
        for skill in source:
            before = found.get(skill.id)
            kind = before.manifest.artifact_kind if before else skill.manifest.artifact_kind
            if skill.manifest.artifact_kind != kind:
                raise ConfigError(
                    f"{skill.place}: metadata.artifact_kind: {skill.manifest.artifact_kind!r}, "
                    f"where the {skill.id} that it overrides gives {kind!r}",
                    f"write {kind!r}, or give it another id",
                )
            found[skill.id] = skill
    return found


def own(skills: Skills) -> list[Skill]:
    """Those that do not come with this program and reach the agents of a run."""
    return [skill for skill in skills.values() if skill.source != "bundled" and skill.asked]


def installed(points: Iterable[EntryPoint] | None = None) -> list[Skill]:
    """The skills that installed packages bring; raises ConfigError."""
    points = entry_points(group=GROUP) if points is None else points
    found: dict[str, Skill] = {}
    for point in sorted(points, key=lambda each: (each.name, each.value)):
        for skill in _of_package(point):
            if skill.id in found:
                raise ConfigError(
                    f"{found[skill.id].place} and {skill.place} are both the skill {skill.id}",
                    "uninstall one of the packages",
                )
            found[skill.id] = skill
    return list(found.values())


def in_commit(git: Git, commit: str) -> Iterator[Skill]:
    """The skills that a commit of the target brings; raises ConfigError."""
    for path, blob in listed(git, commit, f"{SKILLS}/").items():
        if path.count("/") != SKILLS.count("/") + 2 or not path.endswith(f"/{FILE}"):
            continue
        yield parse_skill(git.run("cat-file", "blob", blob), path, "repository")


def _of_package(point: EntryPoint) -> Iterator[Skill]:
    for folder in _folders(point):
        for path in sorted(folder.glob(f"*/{FILE}")):
            place = f"{point.module}/{path.parent.name}/{FILE}"
            yield parse_skill(path.read_bytes(), place, "installed")


def _folders(point: EntryPoint) -> list[Path]:
    """Where the package's files lie; found without running anything of it."""
    top, *inner = point.module.split(".")  # asked for an inner package, it would import the outer
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        spec = None
    places = (spec and spec.submodule_search_locations) or ()
    folders = [found for place in places if (found := Path(place, *inner)).is_dir()]
    if not folders:
        raise ConfigError(
            f"the entry point {point.name!r} of {GROUP} names {point.module!r}, no package",
            "mend or uninstall the package that declares it",
        )
    return folders
