"""`selfimprove doctor`: check this machine, the target and the agents."""

from __future__ import annotations

import click

from selfimprove.app.options import DoctorOptions
from selfimprove.cli.common import Where, json_option, repo_argument, where_options


@click.command("doctor")
@repo_argument
@click.option(
    "--full", is_flag=True, help="Also what takes minutes: runs the benchmark, asks agents."
)
@where_options
@json_option
def command(where: Where, full: bool, as_json: bool) -> int:
    """Check this machine, the target and the agents; exit 1 with findings.

    \b
    Example:
      selfimprove doctor path/to/repository --full
    """
    from selfimprove.app.doctor import doctor

    return doctor(
        DoctorOptions(where.repo, where.topic, where.root, where.trees, full=full, json=as_json)
    )
