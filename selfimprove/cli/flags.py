"""The options of `run` and its kin, and how they become one record."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from selfimprove.app.options import RunOptions
from selfimprove.cli.common import Where, repo_argument, where_options
from selfimprove.cli.values import as_moment, as_seconds
from selfimprove.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])
RUN_ROLES = ("researcher", "planner", "architect", "critic", "executor")
SETUP_ROLES = ("goal-clarifier", "benchmark-builder")

goal_option = click.option(
    "--goal", "goal_file", type=click.Path(path_type=Path), metavar="FILE",
    help="The goal, if not REPO/goal.md.",
)  # fmt: skip
agent_option = click.option("--agent", metavar="SPEC", help="Who fills every role (offline).")
yes_option = click.option("--yes", is_flag=True, help="Confirm what would be run, unasked.")


def stacked(function: F, options: tuple[Callable[[F], F], ...]) -> F:
    """Apply options so that help lists them in this order."""
    for option in reversed(options):
        function = option(function)
    return function


def role_options(roles: tuple[str, ...]) -> Callable[[F], F]:
    """One --<role> for each; --planner may repeat."""

    def decorate(function: F) -> F:
        return stacked(
            function,
            tuple(
                click.option(
                    f"--{role}",
                    multiple=role == "planner",
                    metavar="SPEC",
                    help=f"Who fills the role {role}{_may_repeat(role)}.",
                )
                for role in roles
            ),
        )

    return decorate


def _may_repeat(role: str) -> str:
    return "; may repeat, one each" if role == "planner" else ""


def taken_roles(given: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    """Take the roles out of what click parsed; those not given are left out."""
    roles: dict[str, tuple[str, ...]] = {}
    for role in (*RUN_ROLES, *SETUP_ROLES):
        value = given.pop(role.replace("-", "_"), None)
        if value:
            roles[role] = tuple(value) if isinstance(value, tuple) else (value,)
    return roles


def budget_options(function: F) -> F:
    """--budget-usd and --no-budget."""
    return stacked(function, _BUDGET)


def check_budget(given: dict[str, Any]) -> None:
    """Raise UsageError where a budget is both set and lifted."""
    if given["no_budget"] and given["budget_usd"] is not None:
        raise UsageError("--no-budget contradicts --budget-usd", "give one of them")


def run_options(function: F) -> F:
    """Every flag of `run`, handed on as one RunOptions."""

    @functools.wraps(function)
    def wrapper(where: Where, **given: Any) -> Any:
        roles = taken_roles(given)
        json = given.pop("as_json")
        check_budget(given)
        if given["until"] and given["for_"]:
            raise UsageError("--until contradicts --for", "give one of them")
        if given.get("adopt") and given.get("restore"):
            raise UsageError("--adopt contradicts --restore", "give one of them")
        return function(
            RunOptions(
                repo=where.repo, topic=where.topic, root=where.root, trees=where.trees,
                roles=roles, json=json, **given,
            )
        )  # fmt: skip

    return stacked(wrapper, (repo_argument, goal_option, agent_option, role_options(RUN_ROLES),
                             *_LIMITS, *_MANNERS, yes_option, where_options, _JSON))  # type: ignore[return-value]  # fmt: skip


_JSON = click.option("--json", "as_json", is_flag=True, help="Print journal envelopes, one a line.")
_BUDGET = (
    click.option("--budget-usd", type=click.FloatRange(0), metavar="X", help="Spend at most X."),
    click.option("--no-budget", is_flag=True, help="Spend without a limit."),
)
_LIMITS = (
    click.option("--max-iterations", type=click.IntRange(0), metavar="N", help="Rounds at most."),
    click.option("--agents", type=click.IntRange(1, 26), metavar="N", help="Planners a round."),
    click.option("--until", callback=as_moment, metavar="07:30", help="Stop by this time."),
    click.option("--for", "for_", callback=as_seconds, metavar="8h", help="Stop after this long."),
    *_BUDGET,
)
_MANNERS = (
    click.option("--dry-run", is_flag=True, help="Say what a run would do; do none of it."),
    click.option("--detach", is_flag=True, help="Go on in the background; see `watch`."),
    click.option("--require-win", is_flag=True, help="Exit 6 where nothing was won."),
)
