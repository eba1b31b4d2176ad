"""A target repository with its goal and settings, opened and checked; nothing is written."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from selfimprove.config import Config, load_config
from selfimprove.contracts.goal import Goal
from selfimprove.errors import ConfigError, TargetError
from selfimprove.goalfile import checked_copy, find_goal, parse_goal, read_text
from selfimprove.harness import Harness, read_harness
from selfimprove.names import RefNames, branch, record_ref, tag
from selfimprove.places import private_of, root_of
from selfimprove.process import base_env
from selfimprove.store.layout import Layout
from selfimprove.vcs.patterns import Patterns, ancestors
from selfimprove.vcs.publish import blocked_names
from selfimprove.vcs.refs import read_refs
from selfimprove.vcs.scope import Scope
from selfimprove.vcs.target import Target, dirty_paths, open_target

_WORD_ENDS = re.compile(r"[\s;&|<>=()'\"]+")
"""What stands between the words of a command, those of a script within it too."""


@dataclass(frozen=True)
class Where:
    """What a command line says of the place."""

    repo: Path
    topic: str = "default"
    root: Path | None = None
    trees: Path | None = None
    goal_file: Path | None = None


@dataclass(frozen=True)
class Site:
    """Everything about a target that is known before anything runs."""

    target: Target
    layout: Layout
    private: Path
    """The run's own directory for trees, the private clone and caches."""
    config: Config
    harness: Harness
    goal_path: Path
    """The goal file as read."""
    goal_text: str
    """The checked copy that goes to config/goal.md."""
    topic: str

    @property
    def goal(self) -> Goal:
        """The goal in force."""
        return self.config.goal

    def names(self, slug: str) -> RefNames:
        """The refs of this run."""
        return RefNames(self.topic, slug)


def open_site(where: Where, flags: Mapping[str, Any], text: str | None = None) -> Site:
    """Open a target with its goal and settings; raises TargetError, ConfigError.

    `text` is a goal.md that nobody has written yet.
    """
    target = open_target(where.repo)
    layout = Layout(where.root.absolute() if where.root else root_of(target.top, where.topic))
    private = private_of(layout.root, where.trees)
    if private.is_relative_to(target.top):
        raise ConfigError(
            f"{private} lies inside the target", "give --trees a directory outside the repository"
        )
    path = layout.goal if text is not None else _goal_path(where, target, layout)
    text = read_text(path) if text is None else text
    goal = parse_goal(text, str(path))
    config = load_config(layout.settings, goal, flags, base_env())
    return Site(
        target=target,
        layout=layout,
        private=private,
        config=config,
        harness=read_harness(layout.harness),
        goal_path=path,
        goal_text=checked_copy(text),
        topic=where.topic,
    )


def _goal_path(where: Where, target: Target, layout: Layout) -> Path:
    """The user's goal.md: the flag's, the sub-directory's, the top's, else what init wrote."""
    if where.goal_file is not None:
        return where.goal_file
    for folder in (target.top / target.prefix, target.top):
        found = find_goal(folder)
        if found is not None:
            return found
    if layout.goal.is_file():
        return layout.goal
    raise ConfigError(
        f"{target.top}: no goal.md",
        "write one from `selfimprove goal --template`, or answer `selfimprove init`",
    )


def benchmark_files(site: Site) -> list[str]:
    """The files that make the score: words of the benchmark and guards that are files, goal.md."""
    target, settings = site.target, site.config.settings
    commands = [settings.benchmark_command, *(guard.command for guard in settings.guards)]
    found = [path for command in commands for path in _files_of(target, command)]
    if site.goal_path.is_relative_to(target.top) and not site.goal_path.is_relative_to(
        site.layout.root
    ):
        found.append(site.goal_path.relative_to(target.top).as_posix())
    return sorted(set(found))


def holdout_files(site: Site, known: Iterable[str]) -> frozenset[str]:
    """Those of the known paths that the held-out benchmark's command names, and folders' contents.

    What the seen benchmark is made of too is not held out: agents know it. Nor is what is in scope:
    most often that is the program itself.
    """
    command, prefix = site.config.settings.holdout_command, site.target.prefix
    words = {_place(prefix, word) for word in _WORD_ENDS.split(command) if word}
    scope = Scope.of(site.goal.scope, prefix)
    seen = set(benchmark_files(site))
    return frozenset(
        path
        for path in known
        if not words.isdisjoint((path, *ancestors(path)))
        and path not in seen
        and not scope.matches(path)
    )


def held_out_in_scope(site: Site) -> list[str]:
    """Files that the held-out benchmark's command names and that agents see and may edit."""
    named = _files_of(site.target, site.config.settings.holdout_command)
    return Scope.of(site.goal.scope, site.target.prefix).editable(set(named))


def _place(prefix: str, word: str) -> str:
    """The path that a word would name from the top; what is absolute or outside names nothing."""
    return "" if word.startswith("/") else posixpath.normpath(posixpath.join(prefix, word))


def _files_of(target: Target, command: str) -> list[str]:
    try:
        words = shlex.split(command, comments=False)
    except ValueError:
        words = command.split()
    found = []
    for word in words:
        if not word or word.startswith(("-", "/")) or ".." in word.split("/"):
            continue
        path = target.top / target.prefix / word
        if path.is_file() and not path.is_symlink():
            found.append(path.relative_to(target.top).as_posix())
    return found


def uncommitted(site: Site, files: list[str]) -> list[str]:
    """Those of the files, of the held-out benchmark and of `Sealed` that differ from the commit."""
    files = [*files, *_files_of(site.target, site.config.settings.holdout_command)]
    modified, untracked = dirty_paths(site.target)
    dirty = {*modified, *untracked}
    sealed = Patterns(site.config.settings.sealed_files, site.target.prefix)
    wanted = {path for path in dirty if path in files or path in sealed}
    # an ignored benchmark or goal file is in neither list: it is uncommitted all the same
    wanted |= {path for path in files if path not in dirty and not _committed(site, path)}
    return [path for path in sorted(wanted) if (site.target.top / path).is_file()]


def _committed(site: Site, path: str) -> bool:
    answer = site.target.git.attempt("cat-file", "-e", f"{site.target.head}:{path}")
    return answer.code == 0


def starting_point(site: Site) -> tuple[str, str]:
    """The target branch's full ref (empty where HEAD is detached) and its commit."""
    wanted = site.config.settings.target_branch
    if not wanted:
        current = site.target.branch
        return (branch(current.removeprefix("refs/heads/")) if current else ""), site.target.head
    ref = branch(wanted.removeprefix("refs/heads/"))
    commit = read_refs(site.target.git, ref).get(ref)
    if commit is None:
        raise ConfigError(
            f"target_branch: there is no branch {wanted!r}", "name one that `git branch` lists"
        )
    return ref, commit


def refuse_blocked(site: Site, slug: str) -> None:
    """Raise TargetError where a ref of the target leaves no room for this run's own."""
    names = site.names(slug)
    improve = branch(names.improve)
    record = record_ref(site.topic)
    if record in read_refs(site.target.git, record):
        raise TargetError(
            f"{record} holds the record of a run whose folder is gone",
            f"`selfimprove resume` restores it; to begin anew: `git update-ref -d {record}`, "
            "or another --topic",
        )
    wanted = [improve, tag(names.archive(1, "executor_1"))]
    blocking = blocked_names(site.target, wanted)
    if blocking:
        raise TargetError(
            f"{blocking[0]} is in the way of {names.improve}",
            "rename it, or choose other names with --topic",
        )
    rounds = tag(names.archive(1, "")).removesuffix("1_")  # of this topic: others lie beside it
    there = read_refs(site.target.git, improve, f"{rounds}*")
    ours = [ref for ref in there if ref == improve or ref.startswith(rounds)]
    if ours:
        raise TargetError(
            f"{ours[0]} exists already, and there is no record of the run that made it",
            f"delete it with `git update-ref -d {ours[0]}`, or choose other names with --topic",
        )


def with_config(site: Site, config: Config) -> Site:
    """The same site under other settings."""
    return replace(site, config=config)
