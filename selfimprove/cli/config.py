"""`selfimprove config`: each setting, and where it came from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from selfimprove.cli.common import (
    Where,
    echo_json,
    intended,
    json_option,
    print_table,
    repo_argument,
    top_of,
    where_options,
)
from selfimprove.cli.ending import tell
from selfimprove.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from selfimprove.config import Config
    from selfimprove.store.layout import Layout


@click.command("config")
@repo_argument
@where_options
@click.option("--set-only", is_flag=True, help="Leave out what stands at its default.")
@json_option
def command(where: Where, set_only: bool, as_json: bool) -> None:
    """Each setting in force, and where it came from: environment, settings.json, goal.md, default.

    \b
    Example:
      selfimprove config path/to/repository --set-only
    """
    layout = intended(where.repo, where.topic, where.root)
    config = load(where, layout)
    for warning in config.warnings:
        tell("warning", warning)
    rows = [row for row in config.rows() if not set_only or row[2] != "default"]
    if as_json:
        echo_json({key: {"value": value, "source": str(source)} for key, value, source in rows})
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("setting", "value", "from"):
        table.add_column(name, overflow="fold")
    for key, value, source in rows:
        shown = value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
        table.add_row(key, shown, str(source))
    print_table(table)


def load(where: Where, layout: Layout) -> Config:
    """The settings as the next run would read them."""
    from selfimprove.config import load_config
    from selfimprove.goalfile import read_goal
    from selfimprove.process import base_env

    return load_config(layout.settings, read_goal(goal_file(where, layout)), {}, base_env())


def goal_file(where: Where, layout: Layout) -> Path:
    """The goal that counts: the user's own, else the checked copy of the last start."""
    from selfimprove.goalfile import find_goal

    found = find_goal(where.repo) or find_goal(top_of(where.repo))
    if found is None and layout.goal.is_file():
        found = layout.goal
    if found is None:
        raise ConfigError(
            f"{where.repo}: no goal.md", "write one: selfimprove goal --template > goal.md"
        )
    return found
