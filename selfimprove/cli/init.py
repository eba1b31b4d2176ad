"""`selfimprove init`: goal, benchmark, baseline, trust."""

from __future__ import annotations

from typing import Any

import click

from selfimprove.app.options import InitOptions
from selfimprove.cli.common import Where, json_option, repo_argument, where_options
from selfimprove.cli.flags import (
    SETUP_ROLES,
    agent_option,
    budget_options,
    check_budget,
    goal_option,
    role_options,
    taken_roles,
    yes_option,
)
from selfimprove.cli.values import as_direction, as_seconds


@click.command("init")
@repo_argument
@goal_option
@click.option("--objective", metavar="TEXT", help="What should get better, and why.")
@click.option("--metric", metavar="NAME", help="What is measured.")
@click.option("--target", type=float, metavar="X", help="The score that is good enough.")
@click.option("--direction", callback=as_direction, metavar="lower|higher", help="Which is better.")
@click.option("--scope", multiple=True, metavar="PATH", help="What may change; may repeat.")
@click.option("--out-of-scope", multiple=True, metavar="PATH", help="What may not; may repeat.")
@click.option("--command", metavar="CMD", help="The benchmark.")
@click.option("--format", metavar="FORMAT", help="How its score is read: json, number, …")
@click.option("--timeout", callback=as_seconds, metavar="20m", help="The longest it may take.")
@click.option(
    "--guard", "guards", multiple=True, metavar="CMD", help="Must stay green; may repeat."
)
@agent_option
@role_options(SETUP_ROLES)
@budget_options
@yes_option
@where_options
@json_option
def command(where: Where, as_json: bool, **given: Any) -> int:
    """Set a run up: by a short interview, or wholly by flags.

    An agent may lead the interview (--goal-clarifier) and build the benchmark where none is found
    (--benchmark-builder); what they write is shown before it counts.

    A benchmark, guards and the environment beside the code are detected and proposed; the
    benchmark is run three times; the baseline is recorded.

    \b
    Example:
      selfimprove init path/to/repository
      selfimprove init . --objective "Answer faster" --metric total_ms --direction lower \\
        --command "python bench.py" --scope src/ --yes
    """
    from selfimprove.app.init import init

    check_budget(given)
    roles = taken_roles(given)
    return init(
        InitOptions(
            repo=where.repo, topic=where.topic, root=where.root, trees=where.trees,
            roles=roles, json=as_json, **given,
        )
    )  # fmt: skip
