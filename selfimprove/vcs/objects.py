"""Looks up the objects of one repository by one git that stays to be asked again.

Most questions are small and come by the dozen: a process each would cost more than the answers.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, NamedTuple

from selfimprove.errors import ToolError
from selfimprove.vcs.git import Git

_AT_ONCE = 256
"""Questions sent before an answer is read: they must fit into a pipe."""


_LIVE: weakref.WeakSet[Objects] = weakref.WeakSet()


@contextmanager
def ended() -> Iterator[None]:
    """Leave no git behind that stays, however the body ends."""
    try:
        yield
    finally:
        for objects in list(_LIVE):
            objects.end()


class Facts(NamedTuple):
    """What git says of one object."""

    oid: str
    kind: str
    """`blob`, `tree`, `commit` or `tag`."""
    size: int
    """Bytes."""


class Objects:
    """Answers about objects; safe to use from threads."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._lock = threading.Lock()
        self._process: Any = None
        self._end: Callable[[], object] = lambda: None
        _LIVE.add(self)

    def end(self) -> None:
        """End the git that stays; the next question starts another."""
        with self._lock:
            self._end()

    def facts(self, names: Sequence[str]) -> list[Facts | None]:
        """What each name stands for, a full id or one with a suffix; None for what is not there."""
        found: list[Facts | None] = []
        with self._asked() as process:
            for start in range(0, len(names), _AT_ONCE):
                some = names[start : start + _AT_ONCE]
                _send(process, "info", some)
                found += [_facts(process.stdout.readline()) for _ in some]
        return found

    @contextmanager
    def contents(self, oids: Sequence[str]) -> Iterator[BinaryIO]:
        """The objects one after another, each to be read as `begun` says, and to its end."""
        if len(oids) > _AT_ONCE:
            wanted = "".join(f"{oid}\n" for oid in oids).encode()
            with self._git.stream("cat-file", "--batch", "--buffer", stdin=wanted) as out:
                yield out
        else:
            with self._asked() as process:
                _send(process, "contents", oids)
                yield process.stdout

    @contextmanager
    def _asked(self) -> Iterator[Any]:
        """The git that answers; done away with where an answer may not have been taken whole."""
        with self._lock:
            process = self._running()
            try:
                yield process
                process.stderr.read()  # what it says of a strange name must not fill the pipe
            except BaseException:
                self._end()
                raise

    def _running(self) -> Any:
        if self._process is None or self._process.poll() is not None:
            self._end()
            self._process = self._git.open("cat-file", "--batch-command")
            os.set_blocking(self._process.stderr.fileno(), False)
            self._end = weakref.finalize(self, _end, self._process)
        return self._process


def _end(process: Any) -> None:
    """Close the pipes, which ends git, and wait for it."""
    for pipe in (process.stdin, process.stdout, process.stderr):
        with suppress(BrokenPipeError):
            pipe.close()
    process.proc.wait()


def begun(out: BinaryIO, oid: str) -> int:
    """Read the line before an object's bytes: how many they are; a newline follows them."""
    found = _facts(out.readline())
    if found is None:
        raise missing(oid)
    return found.size


def missing(oid: str) -> ToolError:
    """What a lost object is reported as."""
    return ToolError(
        f"object {oid} is missing from the private clone",
        "delete the private clone; the next start makes it again",
    )


def whole(out: BinaryIO, oid: str) -> bytes:
    """Read the next object."""
    size = begun(out, oid)
    data = out.read(size + 1)
    if len(data) != size + 1:
        raise ToolError(f"git stopped in the middle of object {oid}", "try again")
    return data[:-1]


def _send(process: Any, command: str, names: Sequence[str]) -> None:
    try:
        process.stdin.write("".join(f"{command} {name}\n" for name in names).encode())
        process.stdin.flush()
    except BrokenPipeError:
        return  # the answer that is missing tells


def _facts(line: bytes) -> Facts | None:
    if not line:
        raise ToolError("git stopped answering about its objects", "try again")
    words = line.decode().split()
    return Facts(words[0], words[1], int(words[2])) if len(words) == 3 else None
