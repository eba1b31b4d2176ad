"""`selfimprove idea`: queue an idea for the next round."""

from __future__ import annotations

import click

from selfimprove.cli.common import Where, intended, repo_argument, where_options
from selfimprove.errors import UsageError


@click.command("idea")
@click.argument("text")
@repo_argument
@where_options
def command(where: Where, text: str) -> None:
    """Queue an idea: planners of the next round are shown it, and `status` tells what became of it.

    \b
    Example:
      selfimprove idea "cache the parsed config" path/to/repository
      selfimprove idea "src/pool.py::WORKERS = 2, 4, 8"
    """
    from selfimprove.ideas import normal_idea
    from selfimprove.store.ideabox import IdeaBox

    if not normal_idea(text):
        raise UsageError(f"{text!r} says nothing", 'give the idea in quotes: selfimprove idea "…"')
    layout = intended(where.repo, where.topic, where.root)
    if not layout.root.is_dir():
        layout = where.layout()  # words the refusal
    box = IdeaBox(layout.ideas)
    box.add(text)
    click.echo(f"queued; {len(box.queued())} waiting in {layout.ideas}")
