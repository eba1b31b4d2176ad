"""`selfimprove validate`: check the record; rebuild its documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from selfimprove.cli.common import Where, echo_json, json_option, repo_argument, where_options

if TYPE_CHECKING:
    from selfimprove.store.layout import Layout


@click.command("validate")
@repo_argument
@where_options
@click.option("--rebuild", is_flag=True, help="Restore every document from the journal first.")
@json_option
def command(where: Where, rebuild: bool, as_json: bool) -> int:
    """Check the journal's chain, and every document against it; exit 1 with findings.

    \b
    Example:
      selfimprove validate path/to/repository
      selfimprove validate --rebuild
    """
    from selfimprove.store.rebuild import findings

    layout = where.layout()
    rebuilt = _rebuilt(layout) if rebuild else []
    found = findings(layout)
    if as_json:
        echo_json({"findings": found, "rebuilt": rebuilt})
        return 1 if found else 0
    for path in rebuilt:
        click.echo(f"rebuilt {path}")
    for finding in found:
        click.echo(finding)
    if not found:
        click.echo(f"{layout.root}: sound")
    return 1 if found else 0


def _rebuilt(layout: Layout) -> list[str]:
    """Rebuild under the lock: a living run writes these documents itself."""
    from selfimprove.store.lock import held
    from selfimprove.store.rebuild import rebuild

    with held(layout.lock):
        return rebuild(layout)
