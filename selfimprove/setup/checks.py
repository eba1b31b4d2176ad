"""What has to hold before anything is spent: the incumbent, the scope, the programs, the guards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from selfimprove.agents.base import Probed
from selfimprove.agents.registry import make_agent
from selfimprove.config import Config
from selfimprove.contracts.agent import Usage
from selfimprove.contracts.envelope import Draft, tool_call, tool_result
from selfimprove.contracts.settings import Settings
from selfimprove.deps import Deps, Roster
from selfimprove.errors import ConfigError, ToolError
from selfimprove.setup.gpus import check_gpus
from selfimprove.site import Site
from selfimprove.store.state import State

PROBE_S = 10.0
"""Seconds within which a provider says whether it knows a key and a model."""


def check_agents(config: Config) -> None:
    """Every agent that may be called is one, before anything is run for it."""
    for spec in Roster(config).specs():
        make_agent(spec, config.settings)


def probe_agents(config: Config) -> Iterator[Draft]:
    """Every agent that can be tried is, once; what that cost goes into the record, where it cost
    anything. Raises ConfigError.
    """
    for spec in Roster(config).specs():
        usage = probe_agent(spec, config.settings)
        if usage is not None:
            call = tool_call(f"setup/probe/{spec}", "agent.ask", spec=spec)
            yield call
            yield tool_result(call, {"ok": True, "probe": spec}, usage.document())


def probe_agent(spec: str, settings: Settings) -> Usage | None:
    """Make an agent and try it, for what it gives back or for nothing; raises ConfigError."""
    agent = make_agent(spec, settings)
    return agent.probe(PROBE_S) if isinstance(agent, Probed) else None


def take_incumbent(deps: Deps, state: State, say: Callable[[str], None]) -> None:
    """The private clone may be another than the run was made with: damaged, or other --trees."""
    quarantine = deps.workshop.tools.quarantine
    for note in quarantine.notes:
        say(note)
    if state.incumbent is None:
        return
    try:
        quarantine.take(state.incumbent.commit)
    except ToolError:
        raise ConfigError(
            f"{quarantine.path}: the incumbent {state.incumbent.commit[:12]} is neither there nor "
            f"in {quarantine.target.top}",
            "give the --trees that the run had, or begin again with another --topic",
        ) from None


def check_editable(site: Site, deps: Deps, state: State) -> None:
    """A scope in which nothing can be edited leaves nothing to try."""
    assert state.facts is not None
    if not deps.workshop.editable(state.facts.base_commit):
        shown = ", ".join(site.goal.scope.in_scope)
        raise ConfigError(
            f"{site.goal_path}: nothing in scope can be edited (In scope: {shown})",
            "name files of the commit that are not sealed, or list them in unsealed_files",
        )


def check_tools(site: Site, deps: Deps, state: State) -> None:
    """Commands' programs, and a GPU, must be the same inside the room as outside."""
    assert state.facts is not None
    settings = site.config.settings
    if state.baseline is not None:
        return
    tree = deps.workshop.reading_tree(state.facts.base_commit)
    for command in commands_of(settings):
        check = deps.workshop.tools.room.which(command, tree)
        if not check.ok:
            raise ConfigError(check.message)
    if deps.workshop.tools.room.level in ("bubblewrap", "landlock"):  # others hide no device
        quarantine, base = deps.workshop.tools.quarantine, state.facts.base_commit
        check_gpus(quarantine, base, settings.sandbox.devices, Path("/dev"))


def commands_of(settings: Settings) -> Iterator[str]:
    """Every command whose program has to be found in the room."""
    yield from filter(None, (settings.benchmark_command, settings.prepare_command))
    yield from (guard.command for guard in settings.guards)
    if settings.gate_policy == "domain_specific" and settings.gate.command:
        yield settings.gate.command
    for one in settings.services:
        yield from filter(None, (one.start, one.ready, one.stop, one.reset))


def check_guards(deps: Deps, state: State) -> None:
    """A guard that is red before anything is changed would fail every candidate."""
    assert state.facts is not None
    if not deps.config.settings.guards:
        return
    red = deps.workshop.guards(state.facts.base_commit, "round_0/baseline")
    if red is not None:
        why = " ".join(red.why.split())[-300:]
        raise ConfigError(
            f"{red.what} on the commit the run begins from" + (f" ({why})" if why else ""),
            f"see {deps.workshop.tools.logs}/round_0, make it green or take it out of the goal",
        )
