"""Descriptors that a command is started with: arguments, a program, and pipes that are read after.

What comes back through them is believed only once the command's whole tree is dead.
"""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Self

from selfimprove.errors import ToolError
from selfimprove.process import Outcome
from selfimprove.room.job import Job

MOST = 1 << 16
"""What a pipe holds at least; a command that writes more than it should has the rest dropped."""


@contextmanager
def handed_over(data: bytes) -> Iterator[int]:
    """Bytes in a descriptor, so that no host path has to be shown for them."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("program")
    else:
        descriptor, path = tempfile.mkstemp()
        Path(path).unlink()
    try:
        os.write(descriptor, data)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)


def as_arguments(words: Sequence[str]) -> bytes:
    """Arguments as bubblewrap's `--args` reads them: no path shows in the room's process list."""
    return b"".join(os.fsencode(word) + b"\0" for word in words)


class Pipe:
    """A pipe whose writing end a child is given."""

    def __init__(self) -> None:
        self.reading, self.given = os.pipe()
        os.set_blocking(self.reading, False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.reading)
        os.close(self.given)

    def read(self) -> bytes:
        """What was written; empty where nothing was."""
        try:
            return os.read(self.reading, MOST)
        except BlockingIOError:
            return b""


@contextmanager
def programmed(job: Job) -> Iterator[tuple[Job, tuple[int, ...], Pipe | None]]:
    """The job with its program in a descriptor, those to pass on, and where it reports."""
    if not job.program:
        yield job, (), None
        return
    assert isinstance(job.command, str)
    with handed_over(job.program) as program, Pipe() as report:
        command = job.command.replace("{program}", f"/dev/fd/{program}")
        command = command.replace("{report}", str(report.given))
        yield replace(job, command=command), (program, report.given), report


def shell(command: str | tuple[str, ...], result: str) -> tuple[str, ...]:
    """The words that run a job's command, `{result}` in it replaced."""
    if isinstance(command, str):
        return ("/bin/sh", "-c", command.replace("{result}", shlex.quote(result)))
    words = (word.replace("{result}", result) for word in command)
    return ("/bin/sh", "-c", 'exec "$@"', "sh", *words)  # the shell words a missing program


def first_process(status: bytes) -> int | None:
    """The first process of the namespace that bubblewrap made, as it is numbered outside."""
    found = re.search(rb'"child-pid": *(\d+)', status)
    return int(found[1]) if found else None


def check_started(outcome: Outcome, status: bytes) -> None:
    """Tell bubblewrap's own failure from the command's; raises ToolError."""
    said = outcome.stderr.decode(errors="replace").strip()
    ours = b'"exit-code"' not in status and (outcome.exit_code or 0) > 0
    if outcome.error or (ours and said.startswith("bwrap: ")):
        raise ToolError(
            f"bubblewrap could not set up the room: {outcome.error or said.splitlines()[0]}",
            "see `selfimprove doctor`, or set sandbox.mode to 'off'",
        )
