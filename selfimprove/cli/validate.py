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
    """Check the journal's chain, each document against it, and the refs; exit 1 with findings.

    \b
    Example:
      selfimprove validate path/to/repository
      selfimprove validate --rebuild
    """
    from selfimprove.app.validating import all_findings
    from selfimprove.store.archive import read_anchor

    layout = where.layout()
    rebuilt = _rebuilt(layout) if rebuild else []
    found = all_findings(layout, where.repo)
    anchor = None if found else read_anchor(layout)
    archived = anchor.round if anchor else 0
    if as_json:
        echo_json({"findings": found, "rebuilt": rebuilt, "archived": archived})
        return 1 if found else 0
    for path in rebuilt:
        click.echo(f"rebuilt {path}")
    for finding in found:
        click.echo(finding)
    if archived:
        click.echo(f"rounds 1 to {archived} are archived: their documents are as they were")
    if not found:
        click.echo(f"{layout.root}: sound")
    return 1 if found else 0


def _rebuilt(layout: Layout) -> list[str]:
    """Rebuild under the lock: a living run writes these documents itself."""
    from selfimprove.app.migrating import finished, migrating
    from selfimprove.store.lock import held
    from selfimprove.store.rebuild import rebuild

    def work() -> list[str]:
        with held(layout.lock):
            return rebuild(layout)

    finished(layout)
    return migrating(layout, work)
