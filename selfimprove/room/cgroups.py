"""Limits that the kernel keeps, where this process may make control groups; elsewhere none.

Watching a tree sees it a few dozen times a second: a program that takes all memory at once, or
forks as fast as it can, is quicker. A group of its own stops it at the limit. Both hierarchies are
understood; nothing is moved that is not a child of ours.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from selfimprove.process import Child, Exceeded, Limits, run_child
from selfimprove.proctree import LINUX

ROOT = Path("/sys/fs/cgroup")
PREFIX = "selfimprove-"
TASKS = 32
"""A group counts threads, `sandbox.processes` does not: so many of them are let to each process."""
CHECK_S = 5.0
GONE_S = 2.0
"""How long the kernel may take to let go of what has died."""

_JOIN = 'for group in $1; do echo $$ >"$group/cgroup.procs" || exit 125; done; shift; exec "$@"'


@dataclass(frozen=True)
class Parent:
    """A group below which we may make our own."""

    folder: Path
    unified: bool


@dataclass(frozen=True)
class Group:
    """The groups of one command, which may be one and the same."""

    memory: Path | None = None
    tasks: Path | None = None

    @property
    def folders(self) -> tuple[Path, ...]:
        """Each once."""
        return tuple(dict.fromkeys(one for one in (self.memory, self.tasks) if one is not None))

    def joined(self, argv: Sequence[str]) -> tuple[str, ...]:
        """The command, which joins the groups before it is itself."""
        if not self.folders:
            return tuple(argv)
        return ("/bin/sh", "-c", _JOIN, "sh", " ".join(map(str, self.folders)), *argv)

    def exceeded(self) -> Exceeded:
        """Which limit the kernel had to keep."""
        if self.memory and (
            _counter(self.memory / "memory.events", "oom_kill")
            or _counter(self.memory / "memory.oom_control", "oom_kill")
        ):
            return "memory"
        return "processes" if self.tasks and _counter(self.tasks / "pids.events", "max") else ""


def kept() -> list[str]:
    """Which limits the kernel can keep here."""
    return [name for name in ("memory", "pids") if parent(name) is not None]


@contextmanager
def bounded(limits: Limits | None) -> Iterator[Group]:
    """A group that holds whoever joins it to the limits; gone afterwards."""
    made: dict[Parent, Path] = {}
    memory = _own("memory", made) if limits and limits.memory_bytes else None
    tasks = _own("pids", made) if limits and limits.processes else None
    try:
        if memory is not None and limits is not None:
            _hold_memory(memory, limits.memory_bytes or 0)
        if tasks is not None and limits is not None:
            (tasks / "pids.max").write_text(str(TASKS * (limits.processes or 0)))
        yield Group(memory, tasks)
    finally:
        for folder in made.values():
            _remove(folder)


def sweep() -> None:
    """Remove the groups of runs that were killed."""
    for name in ("memory", "pids"):
        found = parent(name)
        for folder in found.folder.glob(f"{PREFIX}*") if found else ():
            owner = folder.name.removeprefix(PREFIX).split("-")[0]
            if owner.isdigit() and not Path(f"/proc/{owner}").exists():
                with suppress(OSError):  # somebody is in it
                    folder.rmdir()


@lru_cache(maxsize=4)
def parent(controller: str) -> Parent | None:
    """Where a group with a controller can be made; None where nowhere."""
    if not LINUX:
        return None
    for line in _text(Path("/proc/self/cgroup")).splitlines():
        _, names, path = line.split(":", 2)
        for found in _candidates(names, controller, path.lstrip("/")):
            if _may_make(found.folder):
                return found
    return None


def _candidates(names: str, controller: str, path: str) -> Iterator[Parent]:
    if controller in names.split(","):
        yield Parent(ROOT / names / path, unified=False)
    elif not names:
        for root in (ROOT, ROOT / "unified"):
            own = root / path
            # ours has processes in it, so that its own groups get no controllers (the kernel's
            # rule): the nearest above it that hands them on is where a sibling can be made
            for folder in (own, *(one for one in own.parents if one.is_relative_to(root))):
                if controller in _text(folder / "cgroup.subtree_control").split():
                    yield Parent(folder, unified=True)


def _may_make(folder: Path) -> bool:
    """Whether a group can be made there, and a process of ours goes into it: it is tried."""
    try:
        made = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=folder))
    except OSError:
        return False
    try:
        argv = Group(made).joined(("/bin/sh", "-c", "exit 0"))
        return run_child(Child(argv, Path("/"), {}, CHECK_S)).exit_code == 0
    finally:
        _remove(made)


def _own(controller: str, made: dict[Parent, Path]) -> Path | None:
    found = parent(controller)
    if found is None:
        return None
    if found not in made:
        try:
            prefix = f"{PREFIX}{os.getpid()}-"
            made[found] = Path(tempfile.mkdtemp(prefix=prefix, dir=found.folder))
        except OSError:
            return None  # no more of them: the tree is watched all the same
    return made[found]


def _hold_memory(folder: Path, limit: int) -> None:
    if (folder / "memory.max").exists():
        (folder / "memory.max").write_text(str(limit))
        with suppress(OSError):  # not every kernel counts swap, or ends a group as one
            (folder / "memory.oom.group").write_text("1")
            (folder / "memory.swap.max").write_text("0")
    else:
        (folder / "memory.limit_in_bytes").write_text(str(limit))
        with suppress(OSError):
            (folder / "memory.memsw.limit_in_bytes").write_text(str(limit))


def _remove(folder: Path) -> None:
    deadline = time.monotonic() + GONE_S
    while True:
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() > deadline:
                return  # held by the kernel: the next run sweeps it
            time.sleep(0.005)
        else:
            return


def _counter(file: Path, name: str) -> int:
    for line in _text(file).splitlines():
        words = line.split()
        if len(words) == 2 and words[0] == name:
            return int(words[1])
    return 0


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""
