"""`selfimprove diff`: a candidate's patch."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from selfimprove.cli.common import Where, repo_argument, where_options
from selfimprove.cli.ids import EXAMPLES, Named, parse_id
from selfimprove.errors import ToolError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from selfimprove.store.layout import Layout


@click.command("diff")
@click.argument("name", metavar="ID")
@repo_argument
@where_options
def command(where: Where, name: str) -> None:
    """A candidate's patch: against the incumbent it was made from.

    \b
    Example:
      selfimprove diff round_3_executor_2
      selfimprove diff merge_3 | git apply
    """
    named = parse_id(name)
    layout = where.layout()
    pair = commits(layout, named)
    if pair is None:
        raise UsageError(
            f"{name}: no candidate of that name in {layout.root}", f"give {EXAMPLES} that has one"
        )
    show(patch(_repositories(where, layout), *pair))


def show(drawn: bytes) -> None:
    """Print a patch: to a terminal without what could command it, else to the byte."""
    if not sys.stdout.isatty():
        click.echo(drawn, nl=False)
        return
    from selfimprove.report.plain import clean

    click.echo(clean(drawn.decode("utf-8", "replace")), nl=False)


def commits(layout: Layout, named: Named) -> tuple[str, str] | None:
    """The incumbent's commit and the candidate's, as the round's journal has them."""
    from selfimprove.store.record import envelopes

    incumbent, made, plans, merged = "", {}, {}, ""
    for envelope in envelopes(layout, named.round):
        payload: dict[str, Any] = envelope.payload
        event = payload.get("event")
        if event == "executors_named":
            plans = payload["executors"]
        elif payload.get("intent") == "execute":
            made[payload["executor"]] = payload["candidate"]["commit"]
        elif event == "merge_report" and "incumbent" in payload:
            merged = payload["incumbent"]["commit"]
    incumbent = _incumbent(layout, named.round)
    chosen = merged
    if named.kind == "executor":
        chosen = made.get(named.agent, "")
    elif named.kind == "planner":
        carried = [
            who for who, plan in plans.items() if plan == f"round_{named.round}_{named.agent}"
        ]
        chosen = made.get(carried[0], "") if carried else ""
    elif named.kind not in ("round", "merge"):
        chosen = ""
    return (incumbent, chosen) if incumbent and chosen else None


def _incumbent(layout: Layout, number: int) -> str:
    """The commit that a round began from: what the checkpoint before it holds."""
    from selfimprove.store.journal import last_checkpoint
    from selfimprove.store.record import envelopes, load_state

    saved = last_checkpoint(envelopes(layout, number - 1)) if number else None
    if saved and saved.get("incumbent"):
        return str(saved["incumbent"]["commit"])
    current = load_state(layout).round
    return current.incumbent.commit if current and current.number == number else ""


def _repositories(where: Where, layout: Layout) -> list[Path]:
    """Where the commits may be: the private clone, then the target's own repository."""
    from selfimprove.cli.common import top_of
    from selfimprove.places import quarantine_of
    from selfimprove.vcs.target import open_target

    private = quarantine_of(where.private(layout))
    found = [private] if private.is_dir() else []
    return [*found, open_target(top_of(where.repo)).git_dir]


def patch(repositories: list[Path], old: str, new: str) -> bytes:
    """The patch from one commit to another, from the first repository that has both."""
    from selfimprove.vcs.git import Git

    for place in repositories:
        git = Git(place)
        known = [git.attempt("cat-file", "-e", f"{oid}^{{commit}}").code == 0 for oid in (old, new)]
        if all(known):
            return git.run("diff", "--no-ext-diff", "--no-textconv", "--binary", old, new)
    raise ToolError(
        f"{new[:12]} is in no repository of this run any more",
        "say with --trees where its private trees are",
    )
