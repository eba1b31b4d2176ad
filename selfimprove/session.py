"""One process at work on one run: open it under its lock, take it on, let it go in good order."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from selfimprove import __version__
from selfimprove.contracts.agent import RunStatus
from selfimprove.contracts.benchmark import Sample
from selfimprove.contracts.envelope import Envelope, control
from selfimprove.contracts.settings import Settings
from selfimprove.deps import Deadline, Deps
from selfimprove.errors import ConfigError, Stopped
from selfimprove.loop import EXIT_CODES, Observer, Run, stopped, until_stopped
from selfimprove.places import FOLDER
from selfimprove.process import Child, StopToken, base_env, run_child
from selfimprove.publisher import Move, Order
from selfimprove.safekeeping import Keeper
from selfimprove.setup.begin import (
    Settling,
    facts_of,
    measure_baseline,
    remeasure,
    run_begun,
)
from selfimprove.setup.checks import (
    check_agents,
    check_editable,
    check_guards,
    check_tools,
    probe_agents,
    take_incumbent,
)
from selfimprove.setup.goal_change import edited, refuse_other_metric
from selfimprove.setup.outlook import outlook
from selfimprove.site import Site
from selfimprove.steps import lost
from selfimprove.steps.stop_check import why_stop
from selfimprove.store import lock
from selfimprove.store.files import leftovers, write_whole
from selfimprove.store.journal import Journal
from selfimprove.store.layout import Layout, folders_of_record
from selfimprove.store.record import load
from selfimprove.store.state import State
from selfimprove.store.writer import Writer
from selfimprove.vcs.objects import ended
from selfimprove.wiring import (
    Control,
    build_deps,
    fingerprint_now,
    open_quarantine,
    open_room,
    redactor_of,
    settled_bench,
)

STOP_FILE_EVERY_S = 0.5
CHART_TIMEOUT_S = 120.0
CHART_EVERY_S = 180.0
FINISHED: frozenset[RunStatus] = frozenset(
    {"target_reached", "plateau", "patience", "max_iterations", "circuit_breaker", "budget", "time"}
)


@dataclass(frozen=True)
class Asked:
    """What the person asked of this start."""

    confirm: Callable[[Site, State, Deps], str]
    """Shows what would run and returns the digest confirmed; raises TrustError."""
    observers: Sequence[Observer] = ()
    deadline: Deadline = field(default_factory=Deadline)
    say: Callable[[str], None] = lambda _: None
    moved: str = ""
    """`adopt` or `restore`: what to do about an improvement branch that its user moved."""
    only_set_up: bool = False


@dataclass(frozen=True)
class Outcome:
    """How a start ended."""

    state: State
    deps: Deps | None
    """None where nothing had to be joined to end: before set-up was done, or long after."""
    exit_code: int
    went_on: bool = True
    """False where the run was finished and no limit had been raised."""


def take_on(site: Site, asked: Asked, stop: StopToken) -> Outcome:
    """Start a run or go on with it until it stops; raises UserError."""
    with lock.held(site.layout.lock), _stop_file(site.layout.stop_file, stop), ended():
        prepare_root(site)
        keeper = Keeper(site.target.git, site.topic, site.layout, asked.say)
        run = open_run(site, [*asked.observers, keeper])
        control_ = Control(stop, asked.deadline, asked.say)
        refuse_other_metric(site, run.state)
        finished = _finished(run.state, site.config.settings)
        if finished and not run.state.held_back and not asked.moved:
            return _ended(run.state, None, asked, finished)
        try:
            deps = _set_up(run, site, asked, control_)
        except (Stopped, KeyboardInterrupt):
            if run.state.facts is None:
                raise
            run.append(stopped(run.state, "user_stopped", "stopped by a person during set-up"))
            return Outcome(run.state, None, EXIT_CODES["user_stopped"])
        if asked.only_set_up:
            return Outcome(run.state, deps, 0)
        _settle_branch(run, deps, asked)
        if finished:
            return _ended(run.state, deps, asked, finished)
        deps.watch.begin()
        _open(run, site, asked)
        run.drive(lost.book(run.state, deps))
        state = until_stopped(run, deps)
        return Outcome(state, deps, EXIT_CODES.get(state.status, 0))


def prepare_folder(layout: Layout) -> None:
    """Make the root's folder, and the .gitignore that keeps all roots of a target out of git."""
    layout.root.mkdir(parents=True, exist_ok=True)
    ignore = layout.root.parent / ".gitignore"
    if layout.root.parent.name == FOLDER and not ignore.exists():
        write_whole(ignore, b"*\n")


def prepare_root(site: Site) -> None:
    """Make the root, kept out of git by a .gitignore of its own, with the goal in force."""
    prepare_folder(site.layout)
    text = site.goal_text.encode()
    if not site.layout.goal.is_file() or site.layout.goal.read_bytes() != text:
        write_whole(site.layout.goal, text)
    site.private.mkdir(parents=True, exist_ok=True)


def open_run(site: Site, observers: Sequence[Observer]) -> Run:
    """Fold what there is, mend the journal's tail, bring the documents up to date."""
    layout = site.layout
    trace = ""
    journal = Journal(layout.journal, trace)
    state, last = load(layout)
    if state.facts is not None:
        trace = state.facts.run_id
        journal = Journal(layout.journal, trace)
    for path in leftovers(*folders_of_record(layout, state.number)):
        path.unlink()
    writer = Writer(layout.root)
    if state.facts is not None:
        writer.catch_up(state, last)
    return Run(state, journal, writer, observers, redactor_of(site))


def _set_up(run: Run, site: Site, asked: Asked, steered: Control) -> Deps:
    """Facts, trust and baseline, as far as they are missing; the deps that follow from them."""
    check_agents(site.config)
    if run.state.facts is None or run.state.baseline is None:
        level = open_room(site, steered.stop).level
        facts = facts_of(site, open_quarantine(site), level)
        run.journal = Journal(site.layout.journal, facts.run_id)
        run.append(run_begun(site, facts))
    assert run.state.facts is not None
    deps = build_deps(site, run.state.facts, steered)
    take_incumbent(deps, run.state, asked.say)
    check_editable(site, deps, run.state)
    digest = asked.confirm(site, run.state, deps)
    if digest != run.state.trust:
        run.append(control("setup", "trusted", digest=digest))
    for draft in probe_agents(site.config):
        run.append(draft)
    check_tools(site, deps, run.state)
    if run.state.round is None:
        run.drive(lost.book(run.state, deps))  # what agents of set-up have spent
    if run.state.baseline is None:
        check_guards(deps, run.state)
        run.drive(measure_baseline(run.state, deps, settling(site, deps, asked.say)))
        run.close_segment(control("setup", "checkpoint"))
        _tell_outlook(_baseline_runs(run.state), deps, asked)
        deps = build_deps(site, run.state.facts, steered)
    mark = fingerprint_now(site, deps, run.state.facts)
    if mark != run.state.fingerprint:
        asked.say("conditions have changed: the incumbent is measured anew")
        tell = partial(_tell_outlook, deps=deps, asked=asked)
        run.drive(remeasure(run.state, deps, mark, "fingerprint changed", tell))
    return deps


def settling(site: Site, deps: Deps, say: Callable[[str], None] = lambda _: None) -> Settling:
    """What a baseline's facts are joined with."""
    return Settling(partial(fingerprint_now, site, deps), partial(settled_bench, site, deps), say)


def _baseline_runs(state: State) -> Sequence[Sample]:
    assert state.baseline is not None
    return state.baseline.measurement.samples


def _tell_outlook(samples: Sequence[Sample], deps: Deps, asked: Asked) -> None:
    """Say what the benchmark's noise, and the time there is, allow."""
    seconds = max(sample.duration_s for sample in samples)
    scores = [sample.score for sample in samples]
    asked.say(outlook(scores, seconds, deps.config.settings, asked.deadline.given()))


def _ended(state: State, deps: Deps | None, asked: Asked, why: str) -> Outcome:
    asked.say(why)
    return Outcome(state, deps, EXIT_CODES.get(state.status, 0), went_on=False)


def _finished(state: State, settings: Settings) -> str:
    """Why a finished run does not go on; empty where it does."""
    if state.status not in FINISHED:
        return ""
    stop = why_stop(state, settings, Deadline())
    if stop is None:
        return ""
    return f"this run has ended: {stop[1]}; raise that limit to go on"


def _settle_branch(run: Run, deps: Deps, asked: Asked) -> None:
    """Publish what was held back; stop, adopt or restore where the branch was moved."""
    moved = deps.publisher.moved(run.state)
    if moved and not asked.moved:
        if _finished(run.state, deps.config.settings):
            return  # whatever its user does with the branch now, nothing more will be built on it
        raise ConfigError(moved)
    if moved:
        _adopt_or_restore(run, deps, asked)
    state = run.state
    if state.incumbent and state.held_back:
        order = deps.publisher.held_back_order(state)
        done = deps.publisher.carry_out(order)
        if done.published:
            run.append(
                control(
                    "setup",
                    "restored",
                    published=done.published,
                    iteration=state.number,
                    details={"what": "wins that were held back are published"},
                )
            )


def _adopt_or_restore(run: Run, deps: Deps, asked: Asked) -> None:
    state = run.state
    assert state.incumbent is not None
    found = deps.publisher.found()
    if asked.moved == "restore":
        improve = deps.publisher.improve_ref
        zeros = "0" * len(state.incumbent.commit)
        wanted = state.incumbent.commit
        order = Order(
            improve=improve,
            commit=wanted,
            updates=[Move(ref=improve, new=wanted, old=found or zeros)],
        )
        done = deps.publisher.carry_out(order)
        if done.published is None:
            raise ConfigError(f"cannot restore the branch: {done.warning or done.where}", "free it")
        details = {"what": "the branch was put back", "was": found}
        run.append(
            control(
                "setup",
                "restored",
                published=done.published,
                iteration=state.number,
                details=details,
            )
        )
        return
    if found is None:
        raise ConfigError(
            "the improvement branch is gone: there is nothing to adopt", "use --restore"
        )
    deps.workshop.tools.quarantine.take(found)
    deps.publisher.keep(found)
    incumbent = state.incumbent.model_copy(update={"commit": found})
    run.append(
        control(
            "setup",
            "adopted",
            published=found,
            incumbent=incumbent.document(),
            iteration=state.number,
            details={
                "what": "the user's commit is the incumbent",
                "was": state.published,
                "commit": found,
            },
        )
    )
    assert run.state.facts is not None
    assert run.state.fingerprint is not None
    tell = partial(_tell_outlook, deps=deps, asked=asked)
    run.drive(remeasure(run.state, deps, run.state.fingerprint, "adopted", tell))


def _open(run: Run, site: Site, asked: Asked) -> None:
    """Note what changed since the last process, and that this one took the run up."""
    state = run.state
    if edited(site, state):
        asked.say(f"{site.goal_path} was edited since the last start: it is taken up now")
        details: dict[str, Any] = {
            "field": "goal.md",
            "old_value": state.goal_sha256,
            "new_value": site.goal.sha256,
            "source": "user",
        }
        run.append(control("setup", "config_change", iteration=state.number, details=details))
    settings = site.config.settings.document()
    for name, value in settings.items():
        if state.config and state.config.get(name) != value:
            details = {
                "field": name,
                "old_value": state.config.get(name),
                "new_value": value,
                "source": str(site.config.sources.get(name, "settings")),
            }
            run.append(control("setup", "config_change", iteration=state.number, details=details))
    run.append(
        control(
            "setup",
            "run_opened",
            version=__version__,
            settings=settings,
            goal_sha256=site.goal.sha256,
            target_value=site.config.settings.target_value,
            objective=site.goal.objective,
            unit=site.goal.metric.unit,
            repeated_calls=len(list(lost.calls(site.layout, state))),
        )
    )


@contextmanager
def _stop_file(path: Path, stop: StopToken) -> Iterator[None]:
    """Watch for the `stop` file, as `selfimprove stop` leaves it."""
    path.unlink(missing_ok=True)
    over = threading.Event()

    def watch() -> None:
        while not over.wait(STOP_FILE_EVERY_S):
            if path.exists():
                stop.set()
                return

    watcher = threading.Thread(target=watch, name="stop-file", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
        path.unlink(missing_ok=True)


class ChartKeeper:
    """Draws the chart while a run goes on: after a round, and at most every few minutes."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._drawn = time.monotonic()

    def __call__(self, envelope: Envelope, _: State) -> None:
        """An observer: draws in a thread of its own, in a child process."""
        recorded = envelope.type == "control" and envelope.payload.get("event") == "recorded"
        if recorded and time.monotonic() - self._drawn >= CHART_EVERY_S:
            self._drawn = time.monotonic()
            threading.Thread(target=draw_chart, args=(self._root,), daemon=True).start()


def draw_chart(root: Path) -> str:
    """Draw the chart in a child process; says what went wrong, or nothing."""
    child = Child(
        argv=(sys.executable, "-P", "-m", "selfimprove.report.charts", str(root)),
        cwd=root,
        env=base_env(),
        timeout=CHART_TIMEOUT_S,
    )
    outcome = run_child(child)
    return "" if outcome.exit_code == 0 else outcome.stderr.decode("utf-8", "replace")[-300:]
