"""`init`: goal, benchmark, baseline and trust, by interview or wholly by flags."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from selfimprove.app.common import confirmation, say, where, with_environment, write_settings
from selfimprove.app.setup_agents import CLARIFIER, SetupAgents, in_terminal
from selfimprove.bench.stats import spread
from selfimprove.config import Source
from selfimprove.contracts.tracking import Baseline
from selfimprove.errors import ConfigError
from selfimprove.goalfile import find_goal, read_goal
from selfimprove.places import root_of
from selfimprove.process import StopToken, signals_to
from selfimprove.session import Asked, take_on
from selfimprove.setup.building import ROLE as BUILDER
from selfimprove.setup.clarity import clarity
from selfimprove.setup.detect import detect, of_kind
from selfimprove.setup.draft import Draft, draft_of, ensure_said, goal_text
from selfimprove.setup.interview import Interview, line_of
from selfimprove.setup.prompts import ask, show
from selfimprove.setup.proposal import Proposal
from selfimprove.site import Site, open_site
from selfimprove.store.files import write_whole
from selfimprove.store.layout import Layout
from selfimprove.vcs.target import Target, open_target

if TYPE_CHECKING:
    from selfimprove.app.options import InitOptions


def init(options: InitOptions) -> int:
    """Set a run up."""
    target = open_target(options.repo)
    layout = Layout(options.root.absolute() if options.root else root_of(target.top, options.topic))
    place = where(options)
    own = options.goal_file or find_goal(target.top / target.prefix) or find_goal(target.top)
    if own is None:
        write_whole(layout.goal, _text(options, target, layout).encode())
    elif _says_something(options):
        raise ConfigError(
            f"{own} is the goal already", "edit it, or give --goal with another file, not both"
        )
    else:
        _build_for(own, options, target)
    flags = (
        {}
        if options.agent is None
        else {
            f"agents.{role}": options.agent
            for role in ("researcher", "planner", "architect", "critic", "executor")
        }
    )
    site = with_environment(open_site(replace(place, goal_file=options.goal_file), flags))
    for row in clarity(draft_of(site.goal), None):
        say(line_of(row))
    write_settings(site)
    stop = StopToken()
    with signals_to(stop):
        asked = Asked(confirm=confirmation(yes=options.yes), say=say, only_set_up=True)
        outcome = take_on(site, asked, stop)
    assert outcome.state.baseline is not None
    _tell(options, site, outcome.state.baseline)
    return 0


def _says_something(options: InitOptions) -> bool:
    given = (options.objective, options.metric, options.direction, options.command, options.format)
    listed = (options.scope, options.out_of_scope, options.guards)
    numbers = (options.target, options.timeout)
    return any(given) or any(listed) or any(number is not None for number in numbers)


def _text(options: InitOptions, target: Target, layout: Layout) -> str:
    """A goal.md from flags, from what an earlier init wrote, and from answers."""
    proposals = detect(target.top / target.prefix)
    draft = _drafted(options, layout)
    with ExitStack() as stack:
        agents = SetupAgents(options, draft, proposals, stack)
        builds = agents.given(BUILDER) and not of_kind(proposals, "benchmark")
        if in_terminal(options):
            rules = Interview(ask, show, proposals, built_later=builds)
            draft = agents.clarifier(rules).run(draft)
        else:
            draft = _filled(draft, proposals)
            if agents.given(CLARIFIER):
                say(f"{CLARIFIER} is not asked: without a terminal, or with --yes, flags decide")
        if builds and not draft.command:
            ensure_said(draft)
            draft = agents.built(draft)
        text = goal_text(draft)
        agents.confirm(text)
        agents.install()
    return text


def _build_for(own: Path, options: InitOptions, target: Target) -> None:
    """Build the benchmark that a person's own goal.md lacks; what it says then is theirs to add."""
    draft = draft_of(read_goal(own))
    proposals = detect(target.top / target.prefix)
    if draft.command or of_kind(proposals, "benchmark"):
        return
    with ExitStack() as stack:
        agents = SetupAgents(options, draft, proposals, stack)
        if (
            not agents.given(BUILDER)
            or agents.site.config.sources["benchmark_command"] != Source.GOAL
        ):
            return
        built = agents.built(draft)
        agents.install()
    lines = (f"Command: `{built.command}`", f"Format: {built.format}")
    sealed = ", ".join(f"`{path}`" for path in built.sealed)
    raise ConfigError(
        f"{own} names no benchmark yet, and is yours to edit",
        f"write below `## Benchmark` there: - {' - '.join(lines)} - Sealed: {sealed}; then start "
        "again",
    )


def _drafted(options: InitOptions, layout: Layout) -> Draft:
    before = Draft()
    if layout.goal.is_file():
        before = draft_of(read_goal(layout.goal))
    return Draft(
        objective=options.objective or before.objective,
        metric=options.metric or before.metric,
        direction=options.direction or before.direction,
        target=repr(options.target) if options.target is not None else before.target,
        in_scope=options.scope or before.in_scope,
        out_of_scope=options.out_of_scope or before.out_of_scope,
        command=options.command or before.command,
        format=options.format or before.format,
        timeout=f"{options.timeout:g}s" if options.timeout is not None else before.timeout,
        guards=options.guards or before.guards,
    )


def _filled(draft: Draft, proposals: list[Proposal]) -> Draft:
    """What flags did not say, from what was detected."""
    found = of_kind(proposals, "benchmark")
    taken = next((one for one in found if not draft.command or one.command == draft.command), None)
    if taken is not None:
        say(f"benchmark: {taken.command} ({taken.why})")
        draft = replace(
            draft,
            command=draft.command or taken.command,
            format=draft.format or taken.format,
            metric=draft.metric or taken.metric,
            direction=draft.direction or (taken.direction or ""),
        )
    guards = of_kind(proposals, "guard")
    if guards and not draft.guards:
        say(f"guard: {guards[0].command} ({guards[0].why})")
        draft = replace(draft, guards=(guards[0].command,))
    scopes = of_kind(proposals, "scope")
    if scopes and not draft.in_scope:
        say(f"in scope: {scopes[0].command} ({scopes[0].why})")
        draft = replace(draft, in_scope=(scopes[0].command,))
    return draft


def _tell(options: InitOptions, site: Site, baseline: Baseline) -> None:
    scores = [sample.score for sample in baseline.measurement.samples]
    answer = {
        "root": str(site.layout.root),
        "baseline": baseline.document(),
        "spread": spread(scores),
        "next": f"selfimprove run {options.repo}",
    }
    if options.json:
        print(json.dumps(answer, indent=2, ensure_ascii=False))  # noqa: T201
        return
    exact = "the same in every run" if baseline.deterministic else f"spread {spread(scores):.2%}"
    print(  # noqa: T201
        f"baseline: {baseline.metric} = {baseline.score:g} ({len(scores)} runs, {exact})\n"
        f"set up in {site.layout.root}; start with: selfimprove run {options.repo}"
    )
