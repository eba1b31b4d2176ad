"""`selfimprove resume`: go on with a run that was stopped."""

from __future__ import annotations

from dataclasses import replace

import click

from selfimprove.app.options import RunOptions
from selfimprove.cli.flags import run_options


@click.command("resume")
@click.option("--adopt", is_flag=True, help="You moved the improvement branch: go on from there.")
@click.option("--restore", is_flag=True, help="You moved the improvement branch: put it back.")
@run_options
def command(options: RunOptions) -> int:
    """Go on where a run stopped; held-back wins are published first.

    \b
    Example:
      selfimprove resume path/to/repository
      selfimprove resume --adopt
    """
    from selfimprove.app.run import resume

    return resume(replace(options, resume=True))
