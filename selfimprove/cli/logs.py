"""`selfimprove logs`: an agent's or a benchmark's log, from any terminal."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from selfimprove.cli.common import Where, where_options
from selfimprove.cli.ids import looks_like_id, parse_id
from selfimprove.errors import UsageError

if TYPE_CHECKING:
    from selfimprove.store.layout import Layout

TAIL_BYTES = 1 << 16
POLL_S = 0.3


@click.command("logs")
@click.argument("words", nargs=-1, metavar="[REPO] [ID]")
@where_options
@click.option("-f", "--follow", is_flag=True, help="Go on as the log grows; ^C ends it.")
@click.option("--all", "whole", is_flag=True, help="The whole log, not its last 64 KiB.")
def command(where: Where, words: tuple[str, ...], follow: bool, whole: bool) -> None:
    """An agent's or a benchmark's log; without ID, the list of logs.

    \b
    Example:
      selfimprove logs
      selfimprove logs round_3_executor_2
      selfimprove logs path/to/repository round_3_planner_b --follow
    """
    where, name = with_id(where, words)
    layout = where.layout()
    if not name:
        for path in _all(layout):
            click.echo(f"{path.stat().st_size:>10,}  {path.relative_to(layout.logs)}")
        return
    print_log(find(layout, name), whole, follow)


def with_id(where: Where, words: tuple[str, ...]) -> tuple[Where, str]:
    """Tell REPO from ID where either may be left out."""
    from dataclasses import replace

    if len(words) > 2:
        raise UsageError(f"too many arguments: {' '.join(words)}", "give [REPO] [ID]")
    rest = list(words)
    name = ""
    if rest and (len(rest) == 2 or looks_like_id(rest[-1]) or not Path(rest[-1]).is_dir()):
        name = rest.pop()
    return replace(where, repo=Path(rest[0])) if rest else where, name


def find(layout: Layout, name: str) -> Path:
    """The newest log of an id, or a log by its path below logs/; raises UsageError."""
    direct = layout.logs / name
    if ".." not in Path(name).parts and not Path(name).is_absolute() and direct.is_file():
        return direct
    found = [path for path in _all(layout) if _belongs(path.relative_to(layout.logs), name)]
    if not found:
        raise UsageError(f"{name}: no log of that name in {layout.logs}", "see `selfimprove logs`")
    return max(found, key=lambda path: path.stat().st_mtime)


def _all(layout: Layout) -> list[Path]:
    return sorted(path for path in layout.logs.rglob("*") if path.is_file())


def _belongs(path: Path, name: str) -> bool:
    """`round_3/executor_2_merged.log` belongs to round_3_executor_2."""
    flat = "_".join(path.with_suffix("").parts)
    if flat == name or flat.startswith((f"{name}_", f"{name}.")):
        return True
    if not looks_like_id(name):
        return False
    named = parse_id(name)
    if f"round_{named.round}" not in path.parts:
        return False
    # an agent that is asked several things has a log of each: round_3_planner_b-plan_1.log;
    # a reviewer's begin with whose work it looked at: round_3_planner_b-critic_1.log
    speaker, *rest = path.stem.split("-")
    reviewers = [part for part in rest if re.fullmatch(r"critic_\d+|architect", part)]
    if reviewers:
        speaker = f"round_{named.round}_{reviewers[0]}"
    return named.agent in path.parts or speaker == name


def print_log(path: Path, whole: bool, follow: bool) -> None:
    """Print a log's end or all of it, and what is added while it is followed."""
    from selfimprove.report.plain import clean

    with path.open("rb") as file:
        size = path.stat().st_size
        if not whole and size > TAIL_BYTES:
            file.seek(size - TAIL_BYTES)
            file.readline()
        while True:
            data = file.read()
            if data:
                click.echo(clean(data.decode("utf-8", "replace")), nl=False)
            if not follow:
                return
            time.sleep(POLL_S)
