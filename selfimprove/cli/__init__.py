"""The command line: one command a file, imported when it is called for."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from selfimprove import __version__
from selfimprove.cli.ending import Ending, Session
from selfimprove.cli.lazy import LazyGroup

COMMANDS = {
    "demo": ("selfimprove.cli.demo", "A real run on a bundled target: no key, no network."),
    "goal": ("selfimprove.cli.goal", "A goal.md to fill in, or how yours is understood."),
    "init": ("selfimprove.cli.init", "Set up: goal, benchmark, baseline, trust."),
    "run": ("selfimprove.cli.run", "Start or continue until a stop condition."),
    "resume": ("selfimprove.cli.resume", "Go on with a run that was stopped."),
    "stop": ("selfimprove.cli.stop", "Ask a living run to stop, resumably."),
    "status": ("selfimprove.cli.status", "Where the run stands."),
    "watch": ("selfimprove.cli.watch", "The live view, from any terminal."),
    "history": ("selfimprove.cli.history", "What every round tried, and what came of it."),
    "show": ("selfimprove.cli.show", "One round, plan, result or merge report."),
    "diff": ("selfimprove.cli.diff", "A candidate's patch."),
    "logs": ("selfimprove.cli.logs", "An agent's or a benchmark's log."),
    "idea": ("selfimprove.cli.idea", "Queue an idea for the next round."),
    "chart": ("selfimprove.cli.chart", "Draw the scores: png and svg."),
    "config": ("selfimprove.cli.config", "Each setting, and where it came from."),
    "skills": ("selfimprove.cli.skills", "What each role is told, and by whom."),
    "benchmark": ("selfimprove.cli.benchmark", "Run the benchmark: score, spread, smallest gain."),
    "validate": ("selfimprove.cli.validate", "Check the record; rebuild its documents."),
    "clean": ("selfimprove.cli.clean", "Take away what a run left: trees, clone, old logs."),
    "prune": ("selfimprove.cli.prune", "Archive the journal of rounds long ago."),
    "replay": ("selfimprove.cli.replay", "Derive a round's decisions again, and compare."),
    "export": ("selfimprove.cli.export", "The schemas of every document."),
    "doctor": ("selfimprove.cli.doctor", "Check this machine, the target and the agents."),
}


def _show_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        click.echo(f"selfimprove {__version__}")
        ctx.exit()


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    name="selfimprove",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
def cli() -> None:
    """Make a git repository measurably better: a tournament of small changes, merged when proven.

    \b
    Example:
      selfimprove demo
      selfimprove run path/to/repository
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; returns its exit code and never lets a traceback reach the terminal."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    ending = Ending(Session())
    with ending:
        answer = cli.main(given, "selfimprove", standalone_mode=False, obj=ending.session)
        ending.code = answer if isinstance(answer, int) else 0
    return ending.code
