"""`selfimprove replay`: derive a round's decisions again, and compare."""

from __future__ import annotations

import click

from selfimprove.app.options import ReplayOptions
from selfimprove.cli.common import Where, json_option, repo_argument, where_options
from selfimprove.cli.ids import parse_id


@click.command("replay")
@click.argument("number", metavar="ROUND")
@repo_argument
@where_options
@json_option
def command(where: Where, number: str, as_json: bool) -> int:
    """Derive every decision of a round from its records again; exit 1 where one differs.

    \b
    Example:
      selfimprove replay 3 path/to/repository
    """
    from selfimprove.app.replay import replay

    wanted = int(number) if number.isdecimal() else parse_id(number).round
    return replay(
        ReplayOptions(wanted, where.repo, where.topic, where.root, where.trees, json=as_json)
    )
