"""`selfimprove history`: what every round tried, and what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from selfimprove.cli.common import (
    Where,
    echo_json,
    json_option,
    print_table,
    repo_argument,
    where_options,
)

if TYPE_CHECKING:
    from selfimprove.contracts.base import Direction
    from selfimprove.contracts.history import HistoryRecord, Loser

SHOWN = 100
"""Rounds in a table for a person; JSON has all of them."""


@click.command("history")
@repo_argument
@where_options
@click.option(
    "--last",
    type=click.IntRange(1),
    metavar="N",
    help="The last N rounds; as a table 100, if not given.",
)
@json_option
def command(where: Where, last: int | None, as_json: bool) -> None:
    """What every round tried, and what came of it.

    \b
    Example:
      selfimprove history --last 10
    """
    from selfimprove.report.sources import read_history
    from selfimprove.store.record import load_state

    layout = where.layout()
    records = read_history(layout, last or (0 if as_json else SHOWN))
    if as_json:
        echo_json([record.document() for record in records])
        return
    if not records:
        click.echo("no round has ended yet")
        return
    facts = load_state(layout).facts
    if not last and (earlier := records[0].iteration - 1) > 0:
        click.echo(f"{earlier} earlier rounds: --last {earlier + len(records)} shows them too")
    _print(records, facts.direction if facts else "higher_is_better")


def _print(records: list[HistoryRecord], direction: Direction) -> None:
    from rich.table import Table

    from selfimprove.report import numbers
    from selfimprove.report.plain import clean, one_line

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("plan", "score", "", "family", "what came of it"):
        table.add_column(name, no_wrap=True, overflow="ellipsis")
    for record in records:
        table.add_row(f"round {record.iteration}", numbers.score(record.baseline_score))
        won = record.winner
        if won:
            gain = numbers.gain_in_words(record.baseline_score, won.score, direction)
            words = one_line(clean(won.hypothesis), 90)
            table.add_row(
                f"  {won.plan_id}",
                numbers.score(won.score),
                gain,
                won.approach_family,
                f"merged: {words}",
            )
        for loser in record.losers:
            gain = numbers.gain_in_words(record.baseline_score, loser.score, direction)
            table.add_row(
                f"  {loser.plan_id}",
                numbers.score(loser.score),
                "" if loser.score is None else gain,
                clean(loser.approach_family),
                one_line(clean(_why(loser)), 100),
            )
    print_table(table)


def _why(loser: Loser) -> str:
    from selfimprove.report.summary import why_not

    return f"{why_not(loser)} ({loser.hypothesis})"
