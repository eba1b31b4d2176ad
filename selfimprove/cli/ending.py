"""How a command ends: what it raised becomes an exit code and one line on standard error."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

import click

from selfimprove import __version__
from selfimprove.errors import Stopped, UserError

BY_A_PERSON = 130
MACHINE = {
    errno.ENOSPC: "free some space, then go on with `selfimprove run`",
    errno.EDQUOT: "free some of your quota, then go on with `selfimprove run`",
    errno.EROFS: "choose another place with --root or --trees",
    errno.EFBIG: "raise the limit on file sizes (ulimit -f), then go on with `selfimprove run`",
    errno.EMFILE: "raise the limit on open files (ulimit -n), then go on with `selfimprove run`",
    errno.ENOTDIR: "move away what is no folder there, or choose another with --root or --trees",
    errno.EEXIST: "move away what is there, or choose another place with --root or --trees",
    errno.EIO: "check that disk, or choose another place with --root or --trees",
    errno.EPERM: "mend its permissions, or choose another place with --root or --trees",
    errno.EACCES: "mend its permissions, or choose another place with --root or --trees",
}
"""Errors of the machine, not of this program, and what to do about them."""


@dataclass
class Session:
    """What is known of a command while it runs."""

    root: Path | None = None
    """The root it works on, once that is known."""
    arguments: list[str] = field(default_factory=lambda: sys.argv[1:])


class Ending(AbstractContextManager["Ending"]):
    """Lets nothing out: a user's error is told in one line, a bug is written to a log."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.code = 0

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if error is not None:
            self.code = self._ended(error)
        return True

    def _ended(self, error: BaseException) -> int:
        if isinstance(error, UserError):
            tell("error", " ".join([str(error), *_notes(error)]))
            return error.exit_code
        if isinstance(error, click.exceptions.Exit):
            return error.exit_code
        if isinstance(error, click.UsageError):
            tell("error", _usage(error))
            return error.exit_code
        if isinstance(error, click.ClickException):
            tell("error", error.format_message())
            return error.exit_code
        if isinstance(error, click.Abort | KeyboardInterrupt | Stopped):
            tell("stopped", str(error) if isinstance(error, Stopped) else "by you")
            return BY_A_PERSON
        if isinstance(error, BrokenPipeError):
            _drop_output()
            return 1
        if isinstance(error, OSError) and error.errno in MACHINE:
            where = f"{error.filename}: " if error.filename else ""
            tell("error", f"{where}{error.strerror}; {MACHINE[error.errno]}")
            return 1
        if isinstance(error, SystemExit):
            return error.code if isinstance(error.code, int) else int(error.code is not None)
        return self._bug(error)

    def _bug(self, error: BaseException) -> int:
        report = "".join(traceback.format_exception(error))
        words = traceback.format_exception_only(error)[-1].strip()
        for folder in _log_folders(self.session):
            path = folder / f"bug-{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}.log"
            try:
                folder.mkdir(parents=True, exist_ok=True)
                path.write_text(_head(self.session) + report, encoding="utf-8", errors="replace")
            except OSError:
                continue
            tell("bug", f"{words}; please report it with {path}")
            return 1
        tell("bug", f"{words}; no log could be written:\n{report}")
        return 1


def tell(kind: str, words: str) -> None:
    """One line on standard error."""
    with suppress(OSError, ValueError):
        click.echo(f"selfimprove: {kind}: {' '.join(words.split())}", err=True)


def _notes(error: BaseException) -> list[str]:
    return [f"({note})" for note in getattr(error, "__notes__", [])]


def _usage(error: click.UsageError) -> str:
    message = error.format_message().rstrip(".")
    if error.ctx is None or ";" in message:
        return message
    return f"{message}; see `{error.ctx.command_path} --help`"


def _head(session: Session) -> str:
    python = sys.version.split()[0]
    return f"selfimprove {__version__}, Python {python}, {sys.platform}: {session.arguments}\n\n"


def _log_folders(session: Session) -> list[Path]:
    from platformdirs import user_state_path

    own = user_state_path("selfimprove") / "logs"
    return [session.root / "logs", own] if session.root and session.root.is_dir() else [own]


def _drop_output() -> None:
    """Whoever read our output has gone: let Python's last flush go nowhere."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
