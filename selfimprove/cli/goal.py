"""`selfimprove goal`: a goal.md to fill in, or how yours is understood."""

from __future__ import annotations

import click

from selfimprove.cli.common import Where, echo_json, json_option, repo_argument, where_options


@click.command("goal")
@repo_argument
@where_options
@click.option("--template", is_flag=True, help="Print a goal.md to fill in.")
@json_option
def command(where: Where, template: bool, as_json: bool) -> None:
    """A goal.md to fill in; without --template, how the repository's own is understood.

    \b
    Example:
      selfimprove goal --template > goal.md
      selfimprove goal path/to/repository
    """
    from selfimprove.goalfile import goal_template, read_goal, render_goal

    if template:
        click.echo(goal_template(), nl=False)
        return
    from selfimprove.cli.common import intended
    from selfimprove.cli.config import goal_file

    goal = read_goal(goal_file(where, intended(where.repo, where.topic, where.root)))
    if as_json:
        echo_json(goal.document())
    else:
        click.echo(render_goal(goal), nl=False)
