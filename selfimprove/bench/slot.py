"""The measuring slot: one measurement at a time on a machine, whoever's run it is."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from selfimprove.errors import ToolError

if TYPE_CHECKING:
    from selfimprove.bench.cores import Load
    from selfimprove.process import StopToken

MACHINE = "machine"
_POLL_S = 0.1


class Slot:
    """Locks of the whole machine, and of each GPU named; taken in one order, so none deadlocks.

    A thread that holds the slot may take it again: three pairs can be measured under one hold.
    """

    def __init__(
        self,
        stop: StopToken,
        waiting: Callable[[str], None] | None = None,
        directory: Path | None = None,
        names: Sequence[str] = (MACHINE,),
        load: Load | None = None,
    ) -> None:
        self._stop = stop
        self._waiting = waiting or (lambda _: None)
        self._directory = directory or Path(gettempdir()) / "selfimprove-slots"
        self._names = sorted(set(names))
        self._load = load
        self._held = threading.local()

    @contextmanager
    def hold(self, what: str) -> Iterator[None]:
        """Wait for the slot, saying once for whom, and for a core; raises Stopped when stopped."""
        depth = getattr(self._held, "depth", 0)
        with ExitStack() as locks:
            if not depth:
                _shared_directory(self._directory)
                for name in self._names:
                    locks.enter_context(self._one(name, what))
                if self._load is not None:
                    self._load.wait(self._stop)
            self._held.depth = depth + 1
            try:
                yield
            finally:
                self._held.depth = depth

    @contextmanager
    def _one(self, name: str, what: str) -> Iterator[None]:
        path = self._directory / f"{name}.lock"
        lock = FileLock(path, mode=0o666)
        holder = self._directory / f"{name}.holder"
        told = ""
        while not self._try(lock, path):
            self._stop.raise_if_set()
            whom = _holder(holder)
            if whom != told:
                told = whom
                self._waiting(f"waiting for the measuring slot, held by {whom}")
            time.sleep(_POLL_S)
        try:
            _write_holder(holder, what)
            yield
        finally:
            with suppress(OSError):
                holder.unlink()
            lock.release()

    @staticmethod
    def _try(lock: FileLock, path: Path) -> bool:
        try:
            lock.acquire(timeout=0)
        except Timeout:
            return False
        except OSError as error:
            raise ToolError(
                f"{path}: the measuring slot cannot be locked: {error.strerror or error}",
                "remove that file, or set TMPDIR to a folder that every run here shares",
            ) from None
        return True


def _shared_directory(path: Path) -> None:
    """A folder that every user of the machine may lock in, as /tmp itself is."""
    try:
        path.mkdir(mode=0o1777, parents=True)
        path.chmod(0o1777)  # mkdir's mode is cut by the umask
    except FileExistsError:
        if path.is_symlink() or not path.is_dir():
            raise ToolError(f"{path}: not a folder", "remove it") from None
    except OSError as error:
        raise ToolError(f"{path}: cannot be made: {error.strerror}", "set TMPDIR") from None


def _write_holder(path: Path, what: str) -> None:
    """Who holds the slot is for people to read; that it cannot be written harms nothing."""
    with suppress(OSError):
        path.unlink(missing_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with os.fdopen(os.open(path, flags, 0o644), "w") as file:
            json.dump({"pid": os.getpid(), "what": what[:200]}, file)


def _holder(path: Path) -> str:
    try:
        found = json.loads(path.read_text()[:4096])
        return f"process {int(found['pid'])} ({str(found['what']).splitlines()[0][:200]})"
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return "another run"
