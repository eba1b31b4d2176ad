"""`selfimprove run`: start or continue until a stop condition."""

from __future__ import annotations

import click

from selfimprove.app.options import RunOptions
from selfimprove.cli.flags import run_options


@click.command("run")
@run_options
def command(options: RunOptions) -> int:
    """Start a run, or continue it, until a stop condition; ^C stops it resumably.

    \b
    Example:
      selfimprove run path/to/repository
      selfimprove run . --planner offline --planner "command:./my-planner" --for 8h
      selfimprove run . --yes --json --max-iterations 5
    """
    from selfimprove.app.run import run

    return run(options)
