"""One run a root: a lock that a dead holder does not keep."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from selfimprove.errors import LockedError


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold the root's lock; raises LockedError naming the holder.

    The lock is the kernel's, so it ends with its process however that dies; the file's text only
    tells other programs who holds it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # `alive` takes the lock for a moment: that is no run
    lock = FileLock(path, timeout=1)
    try:
        lock.acquire()
    except Timeout:
        who = holder(path)
        raise LockedError(
            f"{path.parent}: another run holds the lock" + (f" (process {who})" if who else ""),
            "wait for it, watch it with `selfimprove watch`, or end it with `selfimprove stop`",
        ) from None
    try:
        path.with_name("lock.json").write_text(json.dumps({"pid": os.getpid()}) + "\n")
        yield
    finally:
        path.with_name("lock.json").unlink(missing_ok=True)
        lock.release()


def holder(path: Path) -> int | None:
    """The process that says it holds the lock."""
    try:
        return int(json.loads(path.with_name("lock.json").read_text())["pid"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def alive(path: Path) -> bool:
    """Whether a living process holds the lock."""
    if not path.exists():
        return False
    lock = FileLock(path, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        return True
    lock.release()
    return False
