"""`doctor`: check this machine, the target and the agents before anything is spent."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from selfimprove.app.budget import expected_cost
from selfimprove.app.coding_clis import coding_clis
from selfimprove.app.common import own_skills, where, with_environment
from selfimprove.bench.inside import run_in_words
from selfimprove.bench.opened import why_unknown
from selfimprove.contracts.settings import SandboxSettings, Settings
from selfimprove.deps import Roster
from selfimprove.errors import UserError
from selfimprove.process import StopToken
from selfimprove.room import cgroups
from selfimprove.room.isolation import probe
from selfimprove.room.network import network_in_words
from selfimprove.room.unstopped import unstopped
from selfimprove.session import prepare_root
from selfimprove.setup.begin import base_runs, facts_of
from selfimprove.setup.canaries import Canaries
from selfimprove.setup.checks import commands_of, probe_agent
from selfimprove.setup.forecast import spenders_in
from selfimprove.setup.trust import trust_facts
from selfimprove.site import Site, open_site
from selfimprove.store import lock
from selfimprove.store.record import load_state
from selfimprove.store.state import Facts
from selfimprove.vcs.git import git_version
from selfimprove.vcs.quarantine import Quarantine
from selfimprove.wiring import (
    Control,
    build_deps,
    open_quarantine,
    open_room,
    settled_bench,
)

if TYPE_CHECKING:
    from selfimprove.app.options import DoctorOptions

Grade = Literal["ok", "note", "problem"]


@dataclass(frozen=True)
class Check:
    """One thing looked at."""

    name: str
    grade: Grade
    text: str


def doctor(options: DoctorOptions) -> int:
    """Print every check; 1 where there is a problem."""
    checks = list(_checks(options))
    if options.json:
        print(json.dumps([asdict(check) for check in checks], indent=2))  # noqa: T201
    else:
        for check in checks:
            print(f"{check.grade:8}{check.name}: {check.text}")  # noqa: T201
    return 1 if any(check.grade == "problem" for check in checks) else 0


def _checks(options: DoctorOptions) -> Iterator[Check]:
    yield from _machine()
    try:
        site = with_environment(open_site(where(options), {}))
    except UserError as error:
        yield from _coding_clis(Settings(), options)
        yield Check("target", "problem", str(error))
        return
    yield from _coding_clis(site.config.settings, options)
    yield Check("target", "ok", f"{site.target.top} at {site.target.head[:12]}")
    yield from (Check("target", "note", note) for note in site.target.notes)
    yield from (Check("settings", "note", warning) for warning in site.config.warnings)
    yield from _agents(site)
    yield from _skills(site)
    try:
        yield from _room(site)
        if options.full:
            yield from _canaries(site)
    except UserError as error:
        yield Check("room", "problem", str(error))


def _machine() -> Iterator[Check]:
    python = sys.version.split()[0]
    yield Check("python", "ok", python)
    yield Check("git", "ok", ".".join(map(str, git_version())))
    found = probe("auto")
    if found.level == "bubblewrap":
        overlay = "with overlays" if found.overlay else "without overlays: trees are copied"
        yield Check("isolation", "ok", f"bubblewrap at {found.bwrap}, {overlay}")
    else:
        yield Check("isolation", "note", f"{found.level}: {found.reason}")
    for one in unstopped(found.level):
        yield Check(f"not stopped: {one.name}", "note", f"{one.what}; {one.remedy}")


def _coding_clis(settings: Settings, options: DoctorOptions) -> Iterator[Check]:
    for grade, text in coding_clis(settings, ask=options.full):
        yield Check("coding CLI", grade, text)


def _agents(site: Site) -> Iterator[Check]:
    for spec in Roster(site.config).specs():
        try:
            probe_agent(spec, site.config.settings)
        except UserError as error:
            yield Check("agent", "problem", str(error))
        else:
            yield Check("agent", "ok", spec)
    if spenders_in(site.config.settings):
        yield from (Check("cost", "note", line) for line in expected_cost(site).lines())


def _skills(site: Site) -> Iterator[Check]:
    """Whose instructions agents would be given in place of the bundled ones."""
    try:
        for skill in own_skills(site, load_state(site.layout)):
            yield Check("skill", "note", f"{skill.id}: agents are told by {skill.place}")
    except UserError as error:
        yield Check("skill", "problem", str(error))


def _room(site: Site) -> Iterator[Check]:
    """The configured programs inside and outside, and what the file system can tell."""
    # a clone of its own: the run's is the run's alone while it holds the lock
    quarantine = Quarantine.open(site.private / "doctor" / "quarantine.git", site.target)
    room = open_room(site, StopToken())
    settings = site.config.settings
    network = settings.sandbox.network
    yield Check("network", "ok" if network == "none" else "note", network_in_words(network))
    if settings.services:
        names = ", ".join(one.name for one in settings.services)
        yield Check("services", "ok", f"{names}: started before every measurement")
    yield from _limits(settings.sandbox)
    tree = _exported(site, quarantine)
    for command in commands_of(settings):
        found = room.which(command, tree)
        if found.ok:
            yield Check("tool", "ok", f"{found.name} is {found.inside or found.outside}")
        else:
            yield Check("tool", "problem", found.message)
    facts = load_state(site.layout).facts
    if facts is not None and facts.how_run:
        yield _candidate(facts)
    else:
        told = trust_facts(settings, room.level).candidate
        yield Check("candidate", "note", f"{told}; `doctor --full` tries it")
    unknown = why_unknown(site.private)
    if unknown:
        yield Check("opened files", "note", f"{unknown}: only named files are sealed")


def _limits(sandbox: SandboxSettings) -> Iterator[Check]:
    """Who holds candidates to the limits that are set."""
    kept = cgroups.kept()
    limits = {"memory_mb": "memory", "processes": "pids"}
    for name in ("memory_mb", "processes", "disk_mb"):
        if getattr(sandbox, name):
            by = "by the kernel and by watching" if limits.get(name) in kept else "by watching"
            yield Check("limits", "ok", f"{name} {getattr(sandbox, name)}, held {by}")


def _canaries(site: Site) -> Iterator[Check]:
    """Known changes, measured like candidates: what this set-up is open to."""
    stop = StopToken()
    prepare_root(site)
    with lock.held(site.layout.lock):
        state = load_state(site.layout)
        if state.facts is not None and state.baseline is not None:
            deps = build_deps(site, state.facts, Control(stop))
            samples, settled = state.baseline.measurement.samples, state.facts
        else:
            facts = facts_of(site, open_quarantine(site), open_room(site, stop).level)
            deps = build_deps(site, facts, Control(stop))
            samples, settled = base_runs(deps, facts)
        if state.baseline is None:
            yield _candidate(settled)
        bench = settled_bench(site, deps, settled)
        canaries = Canaries(deps, settled, tuple(samples), bench, settled.base_commit)
        for found in canaries.all():
            yield Check(found.name, found.grade, found.text)


def _candidate(facts: Facts) -> Check:
    """How the benchmark was seen to run the candidate."""
    grade: Grade = "ok" if facts.how_run == "apart" else "note"
    return Check("candidate", grade, run_in_words(facts.how_run, facts.inside is not None))


def _exported(site: Site, quarantine: Quarantine) -> Path:
    from selfimprove.vcs.trees import export

    tree = site.private / "doctor" / site.target.head
    if not tree.exists():
        export(quarantine, site.target.head, tree)
    return tree
