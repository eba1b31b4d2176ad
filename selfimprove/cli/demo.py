"""`selfimprove demo`: a real run on a bundled target."""

from __future__ import annotations

from pathlib import Path

import click

from selfimprove.app.options import DemoOptions
from selfimprove.cli.common import json_option


@click.command("demo")
@click.argument("directory", required=False, type=click.Path(path_type=Path), metavar="[DIRECTORY]")
@click.option("--max-iterations", type=click.IntRange(1), metavar="N", help="Rounds at most.")
@click.option("--agent", metavar="SPEC", help="Who fills every role (offline).")
@json_option
def command(
    directory: Path | None, max_iterations: int | None, agent: str | None, as_json: bool
) -> int:
    """A real run on a bundled target: no key, no network, a few minutes.

    \b
    Example:
      selfimprove demo
    """
    from selfimprove.app.demo import demo

    return demo(DemoOptions(directory, max_iterations, agent, as_json))
