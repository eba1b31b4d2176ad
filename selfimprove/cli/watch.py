"""`selfimprove watch`: the live view, from any terminal."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click

from selfimprove.cli.common import Where, console, where_options
from selfimprove.cli.logs import find, print_log, with_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from selfimprove.contracts.envelope import Envelope
    from selfimprove.report.tail import Tail
    from selfimprove.store.layout import Layout
    from selfimprove.store.state import State

POLL_S = 0.4


@click.command("watch")
@click.argument("words", nargs=-1, metavar="[REPO] [ID]")
@where_options
@click.option("--once", is_flag=True, help="Show it once and end.")
def command(where: Where, words: tuple[str, ...], once: bool) -> None:
    """The live view of a run, until it stops; with ID, that agent's log as it grows.

    \b
    Example:
      selfimprove watch path/to/repository
      selfimprove watch round_3_executor_2
    """
    from selfimprove.report.live import PlainLines, View
    from selfimprove.report.tail import Tail

    where, name = with_id(where, words)
    layout = where.layout()
    if name:
        print_log(find(layout, name), whole=False, follow=not once)
        return
    tail = Tail(layout)
    if sys.stdout.isatty():
        with View(console()) as view:
            follow(layout, tail, view, once)
    else:
        follow(layout, tail, PlainLines(sys.stdout), once)


def follow(
    layout: Layout, tail: Tail, observer: Callable[[Envelope, State], None], once: bool
) -> None:
    """Show what is journaled until nobody is left who journals."""
    while True:
        living = not once and runs(layout)  # asked first: the last lines must not be missed
        for envelope, state in tail.poll():
            observer(envelope, state)
        if not living:
            return
        time.sleep(POLL_S)


def runs(layout: Layout) -> bool:
    """Whether a process holds the run; the lock itself is not touched, lest it be in the way."""
    import psutil

    from selfimprove.store.lock import holder

    pid = holder(layout.lock)
    return pid is not None and psutil.pid_exists(pid)
