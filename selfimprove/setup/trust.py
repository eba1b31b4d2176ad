"""What a person confirms before the first run, and again when it changes; pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from selfimprove.agents.skills import Skill
from selfimprove.bench.inside import bootstrapped, how_run, run_in_words
from selfimprove.contracts.settings import BudgetSettings, Settings
from selfimprove.room.network import network_in_words


@dataclass(frozen=True)
class TrustFacts:
    """What a run would execute, show, reach and spend."""

    commands: tuple[tuple[str, str], ...]
    """(what for, command)."""
    mounts: tuple[str, ...]
    """What of this machine jobs may read or write."""
    network: str
    variables: tuple[str, ...]
    """Names let through; never their values."""
    agents: tuple[tuple[str, str], ...]
    """(role, spec)."""
    budget: tuple[str, ...]
    sandbox: str
    """The level of isolation that this machine gives."""
    candidate: str = ""
    """How the benchmark runs the candidate, as far as its command tells."""
    skills: tuple[tuple[str, str, str], ...] = ()
    """(role, where, SHA-256): instructions to agents that do not come with this program."""
    accounts: tuple[tuple[str, str], ...] = ()
    """(spec, who pays): of agents that are coding CLIs."""

    def digest(self) -> str:
        """SHA-256 over every fact: a confirmation is bound to it."""
        facts = asdict(self)
        if not self.accounts:  # what was confirmed before there were any stays confirmed
            del facts["accounts"]
        text = json.dumps(facts, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def lines(self) -> list[str]:
        """How it reads to a person."""
        return list(self._lines())

    def _lines(self) -> Iterator[str]:
        yield from _table("Commands", [f"{name}: {_shown(text)}" for name, text in self.commands])
        yield from _table("Mounts", self.mounts)
        yield f"Network: {self.network}"
        yield f"Variables: {', '.join(self.variables) or 'none of yours'}"
        yield from _table("Agents", [f"{role}: {_shown(spec)}" for role, spec in self.agents])
        if self.accounts:
            rows = [f"{_shown(spec)}: {_shown(words)}" for spec, words in self.accounts]
            yield from _table("Coding CLIs, and who pays", rows)
        if self.skills:
            rows = [
                f"{role}: {_shown(place)} (sha256 {sha[:12]})" for role, place, sha in self.skills
            ]
            yield from _table("Instructions to agents, in place of the bundled", rows)
        yield f"Budget: {', '.join(self.budget) or 'no limit'}"
        yield f"Sandbox: {self.sandbox}"
        yield f"Candidate: {self.candidate}"


def trust_facts(
    settings: Settings,
    level: str,
    mounts: Sequence[str] = (),
    skills: Iterable[Skill] = (),
    accounts: Iterable[tuple[str, str]] = (),
) -> TrustFacts:
    """The facts of a run; `mounts` adds what the room shows besides `provide`."""
    network = settings.sandbox.network
    names = (*settings.env, settings.seed_env) if settings.seed_env else tuple(settings.env)
    return TrustFacts(
        commands=tuple(_commands(settings)),
        mounts=(*_mounts(settings), *mounts),
        network=network_in_words(network),
        variables=tuple(sorted(set(names))),
        agents=tuple(_agents(settings.agents, settings.number_of_agents)),
        budget=tuple(_budget(settings.budget)),
        sandbox=f"{level} (sandbox.mode {settings.sandbox.mode})",
        candidate=run_in_words(
            how_run(settings.benchmark_format, None, lambda _: False),
            bool(bootstrapped(settings.benchmark_command)),
        ),
        skills=tuple((skill.id, skill.place, skill.sha256) for skill in skills),
        accounts=tuple(accounts),
    )


def _commands(settings: Settings) -> Iterator[tuple[str, str]]:
    named = (
        ("dependencies, with network", settings.deps_command),
        ("prepare", settings.prepare_command),
        ("benchmark", settings.benchmark_command),
        ("holdout", settings.holdout_command),
    )
    yield from ((name, command) for name, command in named if command)
    for guard in settings.guards:
        yield f"guard {guard.name}", guard.command
    if settings.gate.command:
        yield "gate", settings.gate.command
    for command in settings.agent_commands:
        yield "executors may run", command
    for service in settings.services:
        for part in ("start", "ready", "reset", "stop"):
            if command := getattr(service, part):
                yield f"service {service.name} {part}", command


def _mounts(settings: Settings) -> Iterator[str]:
    for one in settings.provide:
        yield f"{one.path} (read-only, for {', '.join(one.for_)})"
    yield from (f"{path} (read-only, for agents)" for path in settings.agent_paths.read)
    yield from (f"{path} (writable, for agents)" for path in settings.agent_paths.write)
    yield from (f"{path} (device)" for path in settings.sandbox.devices)


def _agents(agents: Mapping[str, str | list[str]], planners: int) -> Iterator[tuple[str, str]]:
    """One row a role that is not the default; the rest in one."""
    for role in sorted(agents):
        spec = agents[role]
        yield role, spec if isinstance(spec, str) else ", ".join(spec)
    if len(agents) < len(("researcher", "planner", "architect", "critic", "executor")):
        yield f"every other role ({planners} planners a round)", "offline"


def _budget(budget: BudgetSettings) -> Iterator[str]:
    for scope, limit in budget.limits():
        for unit, value in limit.document().items():
            whose = (
                f"{scope.removeprefix('roles.')}s an iteration" if "." in scope else f"a {scope}"
            )
            yield f"{value:g} {unit} {whose}"


def _table(title: str, rows: Sequence[str]) -> Iterator[str]:
    yield f"{title}: none" if not rows else f"{title}:"
    yield from (f"  {row}" for row in rows)


def _shown(command: str) -> str:
    """A command on one line, what would not print made visible: nothing may hide in it."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in command)
