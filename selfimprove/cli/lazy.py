"""A command group that imports a command only when it is called for."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click

Table = Mapping[str, tuple[str, str]]
"""Command -> (module that holds it as `command`, short help)."""


class LazyGroup(click.Group):
    """Lists commands with their short help from a table; `--help` imports none of them."""

    def __init__(self, table: Table, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        """The commands, in the order of the table."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command, imported now."""
        if cmd_name not in self.table:
            return None
        found: Any = import_module(self.table[cmd_name][0]).command
        command: click.Command = found
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; a misspelt one is answered with its nearest."""
        name = args[0] if args else ""
        if args and not name.startswith("-") and name not in self.table:
            near = get_close_matches(name, self.table, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"see `{ctx.command_path} --help`"
            raise click.UsageError(f"no command {name!r}; {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the table."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, words) for name, (_, words) in self.table.items()])
