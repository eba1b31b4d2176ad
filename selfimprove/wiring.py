"""Builds what the steps use from a Site: the one place where the rooms are joined."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from selfimprove.agents.replies import ReplyStore
from selfimprove.agents.skill_sources import registry
from selfimprove.bench.cores import Load, cores
from selfimprove.bench.fingerprint import Parts, digest, fingerprint, path_digest
from selfimprove.bench.formats import supported
from selfimprove.bench.inside import Trusted
from selfimprove.bench.measure import Bench, BenchSpec
from selfimprove.bench.slot import Slot
from selfimprove.config import Source
from selfimprove.contracts.benchmark import Fingerprint
from selfimprove.deps import Deadline, Deps, Roster
from selfimprove.errors import ConfigError
from selfimprove.places import quarantine_of
from selfimprove.process import StopToken, base_env
from selfimprove.publisher import Publisher
from selfimprove.redaction import Redactor, is_secret, named_like_secrets
from selfimprove.review import gates
from selfimprove.room.job import RoomSpec
from selfimprove.room.layers import Layers
from selfimprove.room.network import network_in_words
from selfimprove.room.room import Room
from selfimprove.site import Site, holdout_files
from selfimprove.store.attempts import Attempts
from selfimprove.store.ideabox import IdeaBox
from selfimprove.store.state import Facts
from selfimprove.vcs.export import Overlay
from selfimprove.vcs.guard import Scope, Seals, SealSources, default_seals
from selfimprove.vcs.imported import imported_modules
from selfimprove.vcs.quarantine import Quarantine
from selfimprove.vcs.watch import Watch
from selfimprove.workshop import Rules, Tools, Workshop

BEARING = frozenset(
    {
        "benchmark_cpus",
        "benchmark_warmup",
        "deps_command",
        "env",
        "export_git",
        "prepare_command",
        "seed_env",
        "sandbox",
        "services",
    }
)
"""Settings that a measurement depends on."""


@dataclass(frozen=True)
class Control:
    """What a run is steered by from outside."""

    stop: StopToken
    deadline: Deadline = field(default_factory=Deadline)
    waiting: Callable[[str], None] = lambda _: None
    """Told what a measurement waits for."""


def open_quarantine(site: Site) -> Quarantine:
    """The private clone, made or taken up."""
    return Quarantine.open(quarantine_of(site.private), site.target)


def redactor_of(site: Site) -> Redactor:
    """What no document, log or transcript may show: `env`, what looks like a secret, `redact`."""
    environ, settings = base_env(), site.config.settings
    named = [environ[name] for name in settings.env if is_secret(environ.get(name, ""))]
    return Redactor([*named, *named_like_secrets(environ)], settings.redact)


def open_room(site: Site, stop: StopToken) -> Room:
    """The room at the level this machine allows."""
    settings = site.config.settings
    spec = RoomSpec(
        target_top=site.target.top,
        prefix=site.target.prefix,
        cache=site.private / "room",
        provide=tuple(settings.provide),
        env_names=tuple(settings.env),
        sandbox=settings.sandbox,
        services=tuple(settings.services),
        agent_paths=settings.agent_paths,
        redactor=redactor_of(site),
    )
    return Room(spec, stop)


def build_deps(site: Site, facts: Facts, control: Control) -> Deps:
    """Join the rooms for a run whose facts are fixed."""
    config, settings = site.config, site.config.settings
    gates.ensure(settings)
    quarantine = open_quarantine(site)
    quarantine.take(facts.base_commit)
    room = open_room(site, control.stop)
    rules = rules_of(site, quarantine, facts)
    overlay = Overlay(
        base_commit=facts.base_commit,
        paths=rules.seals,
        extra_files={path: quarantine.blob(oid) for path, oid in facts.sealed_extra.items()},
        executables=frozenset(facts.sealed_programs),
    )
    layers = Layers(quarantine, room, settings, overlay, site.private)
    layers.clean()
    load = Load(settings.benchmark_load_wait, control.waiting)
    bench = Bench(
        bench_spec(site, quarantine, facts, rules.seals),
        room,
        layers,
        Slot(control.stop, control.waiting, load=load),
        site.layout.logs,
    )
    names, redactor = site.names(facts.goal_slug), redactor_of(site)
    tools = Tools(
        quarantine=quarantine,
        room=room,
        layers=layers,
        bench=bench,
        replies=ReplyStore(site.layout.replies, redactor),
        stop=control.stop,
        trees=site.private / "trees",
        logs=site.layout.logs,
        redactor=redactor,
    )
    return Deps(
        config=config,
        harness=site.harness,
        skills=registry(quarantine.git, facts.base_commit),
        roster=Roster(config),
        workshop=Workshop(config, names, rules, tools),
        bench=bench,
        holdout=holdout_bench(site, bench),
        publisher=Publisher(site.target, quarantine, names),
        attempts=Attempts(site.layout.attempts),
        ideas=IdeaBox(site.layout.ideas),
        watch=Watch(site.target),
        stop=control.stop,
        deadline=control.deadline,
    )


def rules_of(site: Site, quarantine: Quarantine, facts: Facts) -> Rules:
    """What candidates may touch, from the base commit."""
    settings, prefix = site.config.settings, site.target.prefix
    entries = quarantine.entries(facts.base_commit)
    held_out = holdout_files(site, {*entries, *facts.sealed_extra})
    scope = Scope.of(site.goal.scope, prefix).hiding(held_out)
    made = frozenset(facts.benchmark_files)
    sources = SealSources(
        benchmark=made | held_out,
        opened=frozenset(facts.opened),
        imported=imported_modules(quarantine, entries, made | frozenset(facts.opened), scope),
        searched=_searched(facts, prefix),
        sealed=tuple(settings.sealed_files),
        unsealed=tuple(settings.unsealed_files),
        prefix=prefix,
    )
    return Rules(scope, default_seals(entries, scope, sources), made, prefix)


def _searched(facts: Facts, prefix: str) -> frozenset[str]:
    """Where the benchmark's own process looked for modules, from the top of the repository."""
    folders = facts.inside.searched if facts.inside else []
    places = (posixpath.normpath(posixpath.join(prefix, folder)) for folder in folders)
    return frozenset("" if place == "." else place for place in places)


def bench_spec(site: Site, quarantine: Quarantine, facts: Facts, seals: Seals) -> BenchSpec:
    """How the score is made."""
    settings = site.config.settings
    if not settings.benchmark_command:
        raise ConfigError(
            f"{site.goal_path}: no benchmark command",
            "write `Command` under `## Benchmark` there, or run `selfimprove init`",
        )
    supported(settings.benchmark_format)
    environ = base_env()
    return BenchSpec(
        command=settings.benchmark_command,
        format=settings.benchmark_format,
        primary=settings.primary_metric or site.goal.metric.name,
        timeout=facts.benchmark_timeout or settings.benchmark_timeout,
        seed_env=settings.seed_env,
        settled=facts.left_behind is not None,
        left_behind=facts.left_behind or 0,
        mentions=facts.mentions,
        found_as=facts.found_as,
        inside=facts.inside,
        trusted=Trusted(seals.paths, site.target.prefix),
        tests=facts.tests,
        bound=settings.score_bound,
        lower_is_better=facts.direction == "lower_is_better",
        warmup=settings.benchmark_warmup,
        cpus=cores(settings.benchmark_cpus),
        digests=(digest(_benchmark(site, quarantine, facts, seals)), digest(_bearing(site))),
        expected_keys=frozenset(facts.score_keys) if facts.score_keys else None,
        exact=site.config.sources.get("primary_metric") not in (Source.GOAL, Source.DEFAULT),
        env={name: environ[name] for name in settings.env if name in environ},
    )


def settled_bench(site: Site, deps: Deps, facts: Facts) -> Bench:
    """The benchmark with what these facts say of it, in the same room and trees."""
    quarantine = deps.workshop.tools.quarantine
    seals = rules_of(site, quarantine, facts).seals
    return deps.bench.other(bench_spec(site, quarantine, facts, seals))


def holdout_bench(site: Site, bench: Bench) -> Bench | None:
    """The held-out benchmark: read like the seen one, under a profile of its own."""
    command = site.config.settings.holdout_command
    if not command:
        return None
    # nothing was learnt of it at the baseline: what the seen benchmark's runs told is not its own
    unknown = replace(bench.spec, expected_keys=None, settled=True, left_behind=1, inside=None)
    unknown = replace(unknown, mentions=None)
    spec = replace(unknown, command=command, profile="holdout", tests={}, bound=None)
    return bench.other(spec)


def fingerprint_now(site: Site, deps: Deps, facts: Facts) -> Fingerprint:
    """The fingerprint of measurements made here and now."""
    settings = site.config.settings
    network = settings.sandbox.network
    quarantine = deps.workshop.tools.quarantine
    provided = {
        one.path: path_digest(site.target.top / one.path, one.hash, site.private / "digests")
        for one in settings.provide
        if "benchmark" in one.for_
    }
    # of these facts: a baseline run may add seals
    seals = rules_of(site, quarantine, facts).seals
    return fingerprint(
        Parts(
            provided=provided,
            benchmark=_benchmark(site, quarantine, facts, seals),
            settings=_bearing(site),
            level=deps.workshop.tools.room.level,
            network=network_in_words(network) if network != "none" else "",
            candidate=facts.how_run,
        )
    )


def _benchmark(
    site: Site, quarantine: Quarantine, facts: Facts, seals: Seals
) -> Mapping[str, object]:
    """What makes the score."""
    settings, entries = site.config.settings, quarantine.entries(facts.base_commit)
    return {
        "command": settings.benchmark_command,
        "format": settings.benchmark_format,
        "primary": settings.primary_metric or site.goal.metric.name,
        "sealed": {path: entry.oid for path, entry in entries.items() if path in seals},
        "extra": dict(facts.sealed_extra),
    }


def _bearing(site: Site) -> Mapping[str, object]:
    """The settings that a measurement depends on."""
    settings = site.config.settings.document()
    return {name: value for name, value in settings.items() if name in BEARING}
