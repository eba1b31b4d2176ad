"""What the commands that do work come to: options in, an exit code out; prints and asks."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from selfimprove.deps import Deadline, Deps
from selfimprove.errors import ToolError, TrustError
from selfimprove.loop import Observer
from selfimprove.process import StopToken, signals_to
from selfimprove.report.live import JsonLines, PlainLines, View
from selfimprove.report.sources import read_history, read_reports
from selfimprove.report.summary import Sources, render
from selfimprove.session import Asked, Outcome, draw_chart, take_on
from selfimprove.setup.trust import TrustFacts, trust_facts
from selfimprove.site import Site, Where, open_site
from selfimprove.store.files import write_whole
from selfimprove.store.state import State

if TYPE_CHECKING:
    from selfimprove.cli.options import RunOptions

NO_WIN = 6
RUN_ROLES = ("researcher", "planner", "architect", "critic", "executor")


def run(options: RunOptions) -> int:
    """Start or continue a run until a stop condition."""
    say("selfimprove works on Linux and macOS; on Windows run it in WSL2") if on_windows() else None
    site = open_site(where(options), run_flags(options))
    if options.detach:
        from selfimprove.detached import detach

        return detach(site)
    for warning in (*site.config.warnings, *site.target.notes):
        say(warning)
    stop = StopToken()
    with signals_to(stop), shown(options.json, site) as observers:
        asked = Asked(
            confirm=confirmation(yes=options.yes),
            observers=observers,
            deadline=deadline(options.until, options.for_),
            say=say,
            moved="adopt" if options.adopt else "restore" if options.restore else "",
        )
        outcome = take_on(site, asked, stop)
    return hand_over(site, outcome, options)


def where(options: Any) -> Where:
    """The place that a command's options name."""
    return Where(options.repo, options.topic, options.root, options.trees, options.goal_file)


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
    return flags | {f"agents.{role}": spec for role, spec in agents.items()}


def deadline(until: datetime | None, lasting: float | None) -> Deadline:
    """When the run must have ended, by the monotonic clock."""
    left = [lasting] if lasting is not None else []
    if until is not None:
        left.append((until - datetime.now(until.tzinfo)).total_seconds())
    return Deadline(time.monotonic() + min(left)) if left else Deadline()


def say(words: str) -> None:
    """Progress for a person, one line on standard error."""
    print(f"selfimprove: {words}", file=sys.stderr, flush=True)  # noqa: T201


def on_windows() -> bool:
    """Whether this is Windows itself."""
    return sys.platform == "win32"


@contextmanager
def shown(as_json: bool, site: Site) -> Iterator[Sequence[Observer]]:
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


def confirmation(*, yes: bool) -> Any:
    """Ask a person to confirm what would be run, bound to its digest."""

    def confirm(site: Site, state: State, deps: Deps) -> str:
        room = deps.workshop.tools.room
        facts = trust_facts(site.config.settings, room.level, room.describe())
        digest = facts.digest()
        if digest == state.trust:
            return digest
        if not yes:
            _ask(facts, first=not state.trust)
        return digest

    return confirm


def _ask(facts: TrustFacts, *, first: bool) -> None:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        what = "nobody has confirmed" if first else "something has changed since it was confirmed"
        raise TrustError(
            f"{what} what this run executes", "see `selfimprove config`, add --yes"
        )
    import click

    for line in facts.lines():
        click.echo(line, err=True)
    if not click.confirm("Run this?", default=True, err=True):
        raise TrustError("not confirmed", "change the goal or settings and start again")


def hand_over(site: Site, outcome: Outcome, options: RunOptions) -> int:
    """Draw the chart, write and print the summary, and give the exit code."""
    if outcome.went_on:
        problem = draw_chart(site.layout.root)
        if problem:
            say(f"the chart could not be drawn: {problem}")
        text = summary(site, outcome)
        write_whole(site.layout.summary, text.encode())
        if not options.json:
            print(text, end="")  # noqa: T201
    code = outcome.exit_code
    if options.require_win and code == 0 and outcome.state.wins_total == 0:
        return NO_WIN
    return code


def summary(site: Site, outcome: Outcome) -> str:
    """The text of summary.md."""
    quarantine = outcome.deps.workshop.tools.quarantine
    reports = read_reports(site.layout)
    merged = [report for report in reports if report.status == "merged"]
    patches = {}
    for win in outcome.state.wins:
        try:
            patches[win.commit] = quarantine.diff(f"{win.commit}^1", win.commit)
        except ToolError:
            continue  # the private clone was made anew and this win is not in it
    return render(
        Sources(
            state=outcome.state,
            target=site.target.top,
            quarantine=quarantine.path,
            history=read_history(site.layout),
            last_merge=merged[-1] if merged else None,
            patches=patches,
        )
    )
