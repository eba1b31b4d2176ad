"""Makes a commit by one git process: no index, no working tree, only `git fast-import`."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import BinaryIO, cast

from selfimprove.vcs.git import Git, failed

SMALL = 1 << 16
"""Bytes of edits that are held in memory."""
_MADE = re.compile(r"[0-9a-f]{40,64}\n")


@dataclass(frozen=True)
class NewCommit:
    """A commit to make, and the ref that is to name it."""

    ref: str
    message: str
    date: str
    """ISO 8601, with its offset from UTC."""
    parent: str = ""
    """Empty: it has none."""
    tree: str = ""
    """What is edited, where that is not the parent's tree."""
    afresh: bool = False
    """Nothing is edited: only what is put into it is in it."""
    anywhere: bool = False
    """The ref may stand anywhere; else only where it leads to the commit."""


class Import:
    """The edits that make a commit; the same ones make the same id."""

    def __init__(self, git: Git, about: NewCommit, file: BinaryIO) -> None:
        self._git = git
        self._about = about
        self._file = file
        self._say(f"commit {about.ref}\nmark :1\n")
        when = int(datetime.fromisoformat(about.date).timestamp())
        self._say(f"committer selfimprove <selfimprove@localhost> {when} +0000\n")
        self._data(about.message.encode())
        if about.parent:
            self._say(f"from {about.parent}\n")
        if about.afresh:
            self._say("deleteall\n")
        elif about.tree:
            self._say(f'M 040000 {about.tree} ""\n')

    def remove(self, path: str) -> None:
        """Take a file, or a folder with all in it, out; it need not be there."""
        self._say(b"D " + _quoted(path) + b"\n")

    def put(self, path: str, content: bytes, mode: str = "100644") -> None:
        """Put a file in, in place of whatever is there."""
        self._say(f"M {mode} inline ".encode() + _quoted(path) + b"\n")
        self._data(content)

    def finish(self) -> str:
        """Make it and move the ref; gives its id.

        Raises ToolError, also where the ref was moved meanwhile to what does not lead here.
        """
        self._say("\nget-mark :1\ndone\n")
        small = self._file.tell() <= SMALL
        self._file.seek(0)
        options = ["--quiet", "--done", *(["--force"] if self._about.anywhere else [])]
        stdin = self._file.read() if small else self._file
        answer = self._git.attempt("fast-import", *options, stdin=stdin)
        made = answer.stdout.decode(errors="replace")
        if answer.code != 0 or not _MADE.fullmatch(made):
            raise failed(("fast-import",), self._git.git_dir, answer)
        return made.strip()

    def _data(self, content: bytes) -> None:
        self._say(f"data {len(content)}\n")
        self._say(content)
        self._say("\n")

    def _say(self, text: str | bytes) -> None:
        self._file.write(text.encode() if isinstance(text, str) else text)


@contextmanager
def importing(git: Git, about: NewCommit) -> Iterator[Import]:
    """Begin a commit; what is put into it waits on the disk where it is large."""
    with tempfile.SpooledTemporaryFile(SMALL) as file:
        yield Import(git, about, cast(BinaryIO, file))


def _quoted(path: str) -> bytes:
    plain = os.fsencode(path).replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"' + plain + b'"'
