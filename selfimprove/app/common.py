"""What several commands need: saying things, trust, the environment beside the code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from selfimprove.agents.skill_sources import own, registry
from selfimprove.agents.skills import Skill
from selfimprove.config import Source
from selfimprove.contracts.settings import Provide, Settings
from selfimprove.deps import Deps
from selfimprove.errors import TrustError
from selfimprove.places import FOLDER
from selfimprove.setup.detect import detect, of_kind
from selfimprove.setup.forecast import accounts_in
from selfimprove.setup.trust import TrustFacts, trust_facts
from selfimprove.site import (
    Site,
    Where,
    benchmark_files,
    held_out_in_scope,
    starting_point,
    uncommitted,
)
from selfimprove.store.files import json_bytes, write_whole
from selfimprove.store.state import State
from selfimprove.vcs.scope import Scope
from selfimprove.vcs.seals import self_scored
from selfimprove.vcs.target import dirty_paths

NAMED = 5


def say(words: str) -> None:
    """Progress for a person, one line on standard error; a terminal that hung up ends nothing."""
    with suppress(OSError, ValueError):
        print(f"selfimprove: {words}", file=sys.stderr, flush=True)  # noqa: T201


def where(options: Any) -> Where:
    """The place that a command's options name."""
    goal_file = getattr(options, "goal_file", None)
    return Where(options.repo, options.topic, options.root, options.trees, goal_file)


def with_environment(site: Site) -> Site:
    """The site with the environment beside the code provided, where nothing is said of it.

    Written to settings.json at the first start, so that it can be seen and changed there.
    """
    if site.config.sources.get("provide", Source.DEFAULT) != Source.DEFAULT:
        return site
    if site.layout.settings.exists() or site.layout.journal.exists():
        return site
    found = tuple(provided(site))
    if not found:
        return site
    settings = site.config.settings.model_copy(update={"provide": list(found)})
    sources = {**site.config.sources, "provide": Source.FILE}
    return replace(site, config=replace(site.config, settings=settings, sources=sources))


def provided(site: Site) -> Iterator[Provide]:
    """Environments beside the code that git does not track."""
    top = site.target.top
    tracked = site.target.git.text("ls-files", "--", ".venv", "venv", "env", "node_modules")
    for proposal in of_kind(detect(top / site.target.prefix), "provide"):
        path = f"{site.target.prefix}{proposal.command}"
        if not any(line.startswith(f"{path}/") for line in tracked.splitlines()):
            yield Provide(path=path)


def write_settings(site: Site) -> None:
    """Keep what set-up found in settings.json; a file that is there is the user's."""
    provide = site.config.settings.provide
    if site.config.sources.get("provide") == Source.FILE and not site.layout.settings.exists():
        rows = [one.document() for one in provide]
        write_whole(site.layout.settings, json_bytes({"provide": rows}))


def beginning(site: Site) -> Iterator[str]:
    """From which commit a run begins, and what of the working tree is therefore not in it."""
    if site.layout.journal.exists():
        return
    modified, untracked = dirty_paths(site.target)
    sealed = uncommitted(site, benchmark_files(site))
    for kind, paths in (("modified", modified), ("untracked", untracked)):
        left = [p for p in paths if p not in sealed and not p.startswith(f"{FOLDER}/")]
        if left:
            more = f" and {len(left) - NAMED} more" if len(left) > NAMED else ""
            yield (
                f"the run begins from commit {site.target.head[:12]}; {kind} and therefore not in "
                f"it: {', '.join(left[:NAMED])}{more}"
            )
    if sealed:
        yield f"uncommitted, taken as they stand and sealed: {', '.join(sealed)}"
    scope = Scope.of(site.goal.scope, site.target.prefix)
    makers = self_scored(scope, benchmark_files(site))
    if makers:
        yield (
            f"in scope, and also makes the score: {', '.join(makers[:NAMED])}; "
            "split what is improved from what measures it, or its wins prove less"
        )
    shown = held_out_in_scope(site)
    if shown:
        yield (
            f"in scope, and named by holdout_command: {', '.join(shown[:NAMED])}; agents see and "
            "edit it: take it out of the scope where it is more than the program itself"
        )


def confirmation(*, yes: bool) -> Callable[[Site, State, Deps], str]:
    """Ask a person to confirm what would be run, bound to its digest."""

    def confirm(site: Site, state: State, deps: Deps) -> str:
        return confirm_facts(facts_to_trust(site, deps), state.trust, yes=yes)

    return confirm


def confirm_facts(facts: TrustFacts, trusted: str, *, yes: bool) -> str:
    """The digest of what is trusted, asked for where it is not the one confirmed before."""
    digest = facts.digest()
    if digest != trusted and not yes:
        _ask(facts, first=not trusted)
    return digest


def measuring_trusted(site: Site, state: State, deps: Deps) -> bool:
    """Whether what a measurement runs and reaches was confirmed; agents and budget do not count."""
    if not state.trust or not state.config:
        return False
    before = trust_facts(
        Settings.parse(state.config, "the recorded settings"), deps.workshop.tools.room.level
    )
    now = facts_to_trust(site, deps)
    nobody: dict[str, Any] = {"agents": (), "budget": (), "skills": (), "accounts": ()}
    return replace(before, **nobody) == replace(now, **nobody)


def facts_to_trust(site: Site, deps: Deps) -> TrustFacts:
    """What a run of this site would execute, show, reach and spend."""
    level = deps.workshop.tools.room.level
    settings = site.config.settings
    return trust_facts(settings, level, skills=own(deps.skills), accounts=accounts_in(settings))


def own_skills(site: Site, state: State) -> list[Skill]:
    """The skills of a run, or of one that would start now, that do not come with this program."""
    commit = state.facts.base_commit if state.facts else starting_point(site)[1]
    return own(registry(site.target.git, commit))


def _ask(facts: TrustFacts, *, first: bool) -> None:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        what = "nobody has confirmed" if first else "something has changed since it was confirmed:"
        raise TrustError(f"{what} what this run executes", "see `selfimprove config`, add --yes")
    import click

    for line in facts.lines():
        click.echo(line, err=True)
    if not click.confirm("Run this?", default=True, err=True):
        raise TrustError("not confirmed", "change the goal or settings and start again")
