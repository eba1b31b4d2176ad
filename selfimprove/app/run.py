"""`run` and `resume`: take a run on, watch it, and hand its result over."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

from selfimprove.app.budget import with_budget, with_recorded_budget, without_limits
from selfimprove.app.common import (
    beginning,
    confirmation,
    say,
    where,
    with_environment,
    write_settings,
)
from selfimprove.app.detach import detach
from selfimprove.app.migrating import finished, migrating
from selfimprove.app.plan import dry_run
from selfimprove.app.restoring import bring_back, layout_of
from selfimprove.contracts.agent import AgentRole
from selfimprove.contracts.base import utc_now
from selfimprove.deps import Deadline
from selfimprove.errors import Stopped, TargetError, ToolError
from selfimprove.loop import Observer
from selfimprove.process import StopToken, base_env, signals_to
from selfimprove.report.live import JsonLines, PlainLines, View
from selfimprove.report.sources import read_calibrations, read_history, read_reports
from selfimprove.report.summary import Sources, render
from selfimprove.report.telemetry import Telemetry, sending
from selfimprove.safekeeping import Keeper
from selfimprove.session import Asked, ChartKeeper, Outcome, draw_chart, take_on
from selfimprove.setup.goal_change import GoalWatch
from selfimprove.site import Site, open_site
from selfimprove.store.files import write_whole
from selfimprove.store.journal import encode, segment_numbers
from selfimprove.store.record import envelopes

if TYPE_CHECKING:
    from selfimprove.app.options import RunOptions

NO_WIN = 6
RUN_ROLES: tuple[AgentRole, ...] = ("researcher", "planner", "architect", "critic", "executor")


def run(options: RunOptions) -> int:
    """Start or continue a run until a stop condition; migrates a record of an earlier version."""
    if sys.platform == "win32":
        raise TargetError("Windows itself is not supported", "run selfimprove within WSL2")
    root = layout_of(options)
    finished(root)
    return migrating(root, lambda: _run(options))


def _run(options: RunOptions) -> int:
    site = with_environment(open_site(where(options), run_flags(options)))
    for warning in (*site.config.warnings, *site.target.notes, *beginning(site)):
        say(warning)
    if not options.no_budget:
        site = with_recorded_budget(site)
    if options.dry_run:
        return dry_run(site, as_json=options.json)
    site = with_budget(site, no_budget=options.no_budget, may_ask=not options.detach)
    write_settings(site)
    if options.detach:
        return detach(site, yes=options.yes)
    stop = StopToken()
    with (
        signals_to(stop),
        sending(telemetry(site), say) as tracing,
        shown(site, as_json=options.json) as observers,
    ):
        chart, goal = ChartKeeper(site.layout.root), GoalWatch(site, say)
        asked = Asked(
            confirm=confirmation(yes=options.yes),
            observers=[*observers, *tracing, chart, goal],
            deadline=deadline(options.until, options.for_),
            say=say,
            moved="adopt" if options.adopt else "restore" if options.restore else "",
        )
        outcome = take_on(site, asked, stop)
        with suppress(Stopped):  # the run has ended: a late ^C only hurries its last words
            return hand_over(site, outcome, options)
        return outcome.exit_code


def telemetry(site: Site) -> Telemetry:
    """Where a run's spans go, if anywhere."""
    return Telemetry(base_env(), site.layout, site.config.settings.redact)


def resume(options: RunOptions) -> int:
    """Go on with a run that was stopped; the same as run, where there is one."""
    bring_back(options)
    return run(options)


def run_flags(options: RunOptions) -> dict[str, Any]:
    """Settings that flags set; those not given are left out."""
    agents: dict[str, Any] = dict.fromkeys(RUN_ROLES, options.agent) if options.agent else {}
    for role, specs in options.roles.items():
        agents[role] = list(specs) if len(specs) > 1 else specs[0]
    flags: dict[str, Any] = {
        "number_of_agents": options.agents,
        "max_iterations": options.max_iterations,
        "budget.run.usd": options.budget_usd,
    }
    if options.no_budget:
        flags |= without_limits(RUN_ROLES)
    return flags | {f"agents.{role}": spec for role, spec in agents.items()}


def deadline(until: datetime | None, lasting: float | None) -> Deadline:
    """When the run must have ended, by the monotonic clock."""
    left = [lasting] if lasting is not None else []
    if until is not None:
        left.append((until - datetime.now(until.tzinfo)).total_seconds())
    return Deadline(time.monotonic() + min(left)) if left else Deadline()


@contextmanager
def shown(site: Site, *, as_json: bool) -> Iterator[Sequence[Observer]]:
    """How a run is watched from here: envelopes, the live view, or plain lines."""
    with ExitStack() as stack:
        if as_json:
            yield [JsonLines(sys.stdout)]
        elif sys.stderr.isatty():
            from rich.console import Console

            rounds = site.config.settings.max_iterations
            yield [stack.enter_context(View(Console(stderr=True), rounds))]
        else:
            yield [PlainLines(sys.stderr)]


def hand_over(site: Site, outcome: Outcome, options: RunOptions) -> int:
    """Draw the chart, write and print the summary, and give the exit code."""
    if outcome.went_on:
        problem = draw_chart(site.layout.root)
        picture = site.layout.root / "tracking/progress.png"
        say(f"the chart could not be drawn: {problem}" if problem else f"chart: {picture}")
        text = summary(site, outcome)
        write_whole(site.layout.summary, text.encode())
        keeper = Keeper(site.target.git, site.topic, site.layout, say)
        keeper.keep(outcome.state, utc_now(), whole=True)
        if not options.json:
            with suppress(OSError, ValueError):  # whoever was to read it may have gone
                print(text, end="", flush=True)  # noqa: T201
    elif options.json:
        repeat_stop(site)
    code = outcome.exit_code
    if options.require_win and code == 0 and outcome.state.wins_total == 0:
        return NO_WIN
    return code


def repeat_stop(site: Site) -> None:
    """A run that had ended before says so again: the last line of --json is a `stopped`."""
    for number in reversed(segment_numbers(site.layout.journal)):
        for envelope in reversed(envelopes(site.layout, number)):
            if envelope.type == "control" and envelope.payload.get("event") == "stopped":
                print(encode(envelope).decode())  # noqa: T201
                return


def summary(site: Site, outcome: Outcome) -> str:
    """The text of summary.md."""
    quarantine = outcome.deps.workshop.tools.quarantine if outcome.deps else None
    reports = read_reports(site.layout)
    patches = {}
    for win in outcome.state.wins if quarantine else ():
        assert quarantine is not None
        try:
            patches[win.commit] = quarantine.diff(f"{win.commit}^1", win.commit)
        except ToolError:
            continue  # the private clone was made anew and this win is not in it
    return render(
        Sources(
            state=outcome.state,
            target=site.target.top,
            quarantine=quarantine.path if quarantine else None,
            history=read_history(site.layout),
            reports=[report for report in reports if report.status == "merged"],
            patches=patches,
            calibrations=read_calibrations(site.layout, outcome.state),
        )
    )
