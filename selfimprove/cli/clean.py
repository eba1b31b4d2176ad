"""`selfimprove clean`: take away what a run left."""

from __future__ import annotations

import click

from selfimprove.cli.common import Where, echo_json, json_option, repo_argument, where_options


@click.command("clean")
@repo_argument
@where_options
@json_option
def command(where: Where, as_json: bool) -> None:
    """Remove trees, the private clone, caches and old logs; the record stays, and can be resumed.

    \b
    Example:
      selfimprove clean path/to/repository
    """
    from selfimprove.app.tidying import clean
    from selfimprove.report import numbers

    layout = where.layout()
    done = clean(layout, where.private(layout))
    if as_json:
        echo_json({"removed": done.removed, "freed": done.freed, "kept": done.kept})
        return
    for place in done.removed:
        click.echo(f"removed {place}")
    for place in done.kept:
        click.echo(f"kept {place}")
    click.echo(f"{numbers.size(done.freed)} freed")
