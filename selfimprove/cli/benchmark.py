"""`selfimprove benchmark`: score, spread, and the smallest gain that can be proved."""

from __future__ import annotations

from typing import Any

import click

from selfimprove.app.options import BenchmarkOptions
from selfimprove.cli.common import Where, json_option, repo_argument, where_options
from selfimprove.cli.flags import goal_option, yes_option


@click.command("benchmark")
@repo_argument
@goal_option
@click.option("--runs", type=click.IntRange(1), metavar="N", help="How often it is run.")
@yes_option
@where_options
@json_option
def command(where: Where, as_json: bool, **given: Any) -> int:
    """Run the benchmark; report score, spread and the smallest gain that can be proved.

    \b
    Example:
      selfimprove benchmark path/to/repository --runs 8
    """
    from selfimprove.app.benchmark import benchmark

    return benchmark(
        BenchmarkOptions(
            repo=where.repo, topic=where.topic, root=where.root, trees=where.trees,
            json=as_json, **given,
        )
    )  # fmt: skip
