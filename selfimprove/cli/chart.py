"""`selfimprove chart`: draw the scores, png and svg."""

from __future__ import annotations

from pathlib import Path

import click

from selfimprove.cli.common import Where, repo_argument, where_options


@click.command("chart")
@repo_argument
@where_options
@click.option(
    "-o", "--output", "outputs", multiple=True, type=click.Path(path_type=Path), metavar="FILE",
    help="A .png or .svg; may repeat. Else tracking/progress.png and .svg in the root.",
)  # fmt: skip
def command(where: Where, outputs: tuple[Path, ...]) -> None:
    """Draw best score by round, every candidate by family, target, baseline and failures.

    \b
    Example:
      selfimprove chart
      selfimprove chart path/to/repository -o scores.svg
    """
    from selfimprove.report.charts import draw
    from selfimprove.report.sources import load_history

    layout = where.layout()
    paths = outputs or tuple(layout.root / f"tracking/progress.{kind}" for kind in ("png", "svg"))
    draw(load_history(layout), paths)
    for path in paths:
        click.echo(path)
