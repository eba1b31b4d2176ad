"""What the commands share: where a run is, how answers are printed, common options."""

from __future__ import annotations

import functools
import json
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from selfimprove.cli.ending import Session
from selfimprove.errors import ConfigError, TargetError, UsageError, UserError
from selfimprove.places import DEFAULT_TOPIC, FOLDER, private_of, root_of
from selfimprove.store.layout import Layout

if TYPE_CHECKING:
    from rich.console import Console

F = TypeVar("F", bound=Callable[..., Any])
PIPE_WIDTH = 200
"""Columns of a table that goes to a file or a pipe."""
_TOPIC = re.compile(r"[a-z0-9][a-z0-9-]{0,30}")


@dataclass(frozen=True)
class Where:
    """Which run is meant."""

    repo: Path
    topic: str
    root: Path | None
    trees: Path | None

    def layout(self) -> Layout:
        """The root of the run; raises ConfigError where there is none."""
        return locate(self.repo, self.topic, self.root)

    def private(self, layout: Layout) -> Path:
        """The run's private trees."""
        return private_of(layout.root, self.trees)


def where_options(function: F) -> F:
    """--topic, --root and --trees, handed on as one `where`; `repo` comes from an argument."""

    @click.option(
        "--topic",
        envvar="SELFIMPROVE_TOPIC_SLUG",
        default=DEFAULT_TOPIC,
        metavar="NAME",
        help="Which of several runs on one repository.",
    )
    @click.option("--root", type=click.Path(path_type=Path), metavar="DIR",
                  help="The run's documents, if not in REPO/.selfimprove/TOPIC.")  # fmt: skip
    @click.option("--trees", type=click.Path(path_type=Path), metavar="DIR",
                  help="The run's private trees, if not in the user's cache.")  # fmt: skip
    @functools.wraps(function)
    def wrapper(
        topic: str, root: Path | None, trees: Path | None, repo: Path | None = None, **given: Any
    ) -> Any:
        where = Where(repo or Path(), checked_topic(topic), root, trees)
        with suppress(UserError):  # only so that a bug is logged there; who needs it asks again
            intended(where.repo, where.topic, where.root)
        return function(where=where, **given)

    return wrapper  # type: ignore[return-value]


def repo_argument(function: F) -> F:
    """REPO, the current directory where it is left out."""
    return click.argument(
        "repo", required=False, default=".", type=click.Path(path_type=Path), metavar="[REPO]"
    )(function)


def json_option(function: F) -> F:
    """--json, as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Answer as JSON.")(function)


def checked_topic(topic: str) -> str:
    """A topic that may be one; raises UsageError."""
    if topic.startswith('"'):  # the environment's values may be JSON
        topic = topic.strip('"')
    if not _TOPIC.fullmatch(topic):
        raise UsageError(
            f"--topic {topic!r} is no topic", "use a-z, 0-9 and -, at most 31 characters"
        )
    return topic


def top_of(repo: Path) -> Path:
    """The top of the repository that `repo` lies in, without asking git; TargetError."""
    here = repo.absolute().resolve()
    if not here.is_dir():
        raise TargetError(f"{repo}: no such directory", "give the path of a git repository")
    for place in (here, *here.parents):
        if (place / ".git").exists():
            return place
    raise TargetError(f"{repo}: not in a git repository", "give the path of one as REPO")


def intended(repo: Path, topic: str, root: Path | None) -> Layout:
    """Where the run's root is, or would be."""
    layout = Layout(root.absolute() if root else root_of(top_of(repo), topic))
    context = click.get_current_context(silent=True)
    if context and isinstance(context.obj, Session):
        context.obj.root = layout.root
    return layout


def locate(repo: Path, topic: str = DEFAULT_TOPIC, root: Path | None = None) -> Layout:
    """The root of a run that exists; raises ConfigError saying where one was looked for."""
    layout = intended(repo, topic, root)
    if layout.journal.is_dir():
        return layout
    others = [] if root else _topics(layout.root.parent)
    remedy = f"start one with `selfimprove run {repo}`"
    if others:
        remedy = f"give --topic: {', '.join(others)}"
    raise ConfigError(f"{layout.root}: no run there", remedy)


def _topics(folder: Path) -> list[str]:
    if folder.name != FOLDER or not folder.is_dir():
        return []
    return sorted(entry.name for entry in folder.iterdir() if (entry / "state/journal").is_dir())


def echo_json(document: Any) -> None:
    """Print a JSON answer."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))


def console(*, err: bool = False) -> Console:
    """A console on standard output; wide where nobody's window limits it."""
    from rich.console import Console

    stream = sys.stderr if err else sys.stdout
    width = None if stream.isatty() else PIPE_WIDTH
    return Console(file=stream, width=width, highlight=False, markup=False, emoji=False)


def print_table(table: Any) -> None:
    """Print a rich table as text, without trailing blanks, so that it can be piped on."""
    import io

    from rich.console import Console

    if sys.stdout.isatty():
        console().print(table)
        return
    buffer = io.StringIO()
    Console(file=buffer, width=PIPE_WIDTH, highlight=False).print(table)
    for line in buffer.getvalue().splitlines():
        click.echo(line.rstrip())
