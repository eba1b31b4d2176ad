"""`selfimprove prune`: archive rounds long ago."""

from __future__ import annotations

import click

from selfimprove.cli.common import Where, echo_json, json_option, repo_argument, where_options


@click.command("prune")
@repo_argument
@where_options
@click.option(
    "--keep",
    type=click.IntRange(1),
    required=True,
    metavar="N",
    help="So many last rounds keep their journal.",
)
@json_option
def command(where: Where, keep: int, as_json: bool) -> None:
    """Take the journal, replies and logs of old rounds away; every document stays.

    Pruned rounds still validate, by digest; they cannot be replayed or rebuilt any more.

    \b
    Example:
      selfimprove prune --keep 100 path/to/repository
    """
    from selfimprove.report import numbers
    from selfimprove.store.lock import held
    from selfimprove.store.pruning import prune

    layout = where.layout()
    with held(layout.lock):
        done = prune(layout, keep)
    if as_json:
        echo_json({"rounds": list(done.rounds), "freed": done.freed})
        return
    click.echo(f"{len(done.rounds)} rounds archived, {numbers.size(done.freed)} freed")
