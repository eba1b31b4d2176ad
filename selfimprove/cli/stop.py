"""`selfimprove stop`: ask a living run to stop, resumably."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

import click

from selfimprove.cli.common import Where, repo_argument, where_options


@click.command("stop")
@repo_argument
@where_options
def command(where: Where) -> None:
    """Ask a living run to stop: finished measurements are kept, and `resume` goes on.

    \b
    Example:
      selfimprove stop path/to/repository
    """
    from selfimprove.store.files import write_whole
    from selfimprove.store.lock import alive, holder

    layout = where.layout()
    if not alive(layout.lock):
        click.echo(f"{layout.root}: nothing runs")
        return
    # the file reaches a run on another machine or in another container, the signal is quicker
    write_whole(layout.stop_file, b"stop\n")
    pid = holder(layout.lock)
    if pid is not None and pid > 1:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGTERM)
    click.echo(f"{layout.root}: asked to stop")
