"""The process tree below one child: who belongs to it, how much memory it holds, how it ends.

Where a PID namespace contains the child, killing its root ends everything. Elsewhere processes
that left their parent are found as orphans: on Linux this process is made their reaper, so that
they become its own children instead of init's. Several trees live at a time (one a thread), so an
orphan is claimed only by the tree that saw it, or that alone can have started it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

LINUX = sys.platform == "linux"
PAGE = os.sysconf("SC_PAGE_SIZE")
MIB = 1 << 20
LEAVE_S = 0.1
"""What is still there when the main process has ended may take this long to go by itself."""
HALT_S = 0.01
PR_SET_CHILD_SUBREAPER = 36

START_LOCK = threading.Lock()
"""Held while a child is started and registered, and while orphans are told apart."""
_live: dict[int, Tree] = {}
_reaping = False
_spared: set[int] = set()


@dataclass(frozen=True)
class Seen:
    """One process as it was seen."""

    pid: int
    born: float
    session: int
    rss: int
    dead: bool


class Tree:
    """A started child and all that descends from it."""

    def __init__(self, pid: int, contained: bool) -> None:
        self.pid = pid
        self.contained = contained
        self.peak_bytes = 0
        self.peak_single = 0
        """The same of its largest process alone."""
        self.most = 0
        """Processes seen at one time."""
        me = _look(pid)
        self.born = me.born if me else 0.0
        self._seen: dict[int, float] = {pid: self.born}
        self._sessions = {pid}
        _live[pid] = self

    def forget(self) -> None:
        """Leave the list of live trees; call once the main process is reaped."""
        _live.pop(self.pid, None)

    def members(self) -> list[Seen]:
        """Every living process of the tree, as far as it can be known now."""
        roots = [self.pid, *(orphan.pid for orphan in self._orphans())]
        if not LINUX:
            roots += self._by_session()
        return self.descendants(roots)

    def descendants(self, roots: list[int]) -> list[Seen]:
        """Living processes at and below `roots`, which are remembered."""
        found: dict[int, Seen] = {}
        waiting = list(dict.fromkeys(roots))
        while waiting:
            pid = waiting.pop()
            seen = None if pid in found else _look(pid)
            if seen is None or (pid == self.pid and seen.born != self.born):
                continue  # gone, or its number was given to a stranger
            found[pid] = seen
            self._seen[pid] = seen.born
            self._sessions.add(seen.session)
            waiting.extend(_children(pid))
        return [seen for seen in found.values() if not seen.dead]

    def sample(self) -> None:
        """Look at the tree once and keep its highest memory."""
        members = self.members()
        self.most = max(self.most, len(members))
        single = max((_high_water(seen.pid) for seen in members), default=0)
        self.peak_single = max(self.peak_single, single)
        self.peak_bytes = max(self.peak_bytes, single, sum(seen.rss for seen in members))

    def holds_more_than(self, limit: int) -> bool:
        """Whether the tree has more memory than this, what its processes share counted once."""
        if self.peak_single > limit:
            return True
        return self.peak_bytes > limit and sum(_share(m.pid, m.rss) for m in self.members()) > limit

    def signal(self, number: int) -> None:
        """Signal the tree; inside a PID namespace its init is spared until the KILL."""
        for seen in self.members():
            if not (self.contained and seen.pid == self.pid and number != signal.SIGKILL):
                _kill(seen.pid, number)

    def kill(self) -> int:
        """Kill until nothing is left; returns how many had to be killed."""
        killed: set[tuple[int, float]] = set()
        deadline = time.monotonic() + 5.0
        while members := self.members():
            for seen in members:
                _kill(seen.pid, signal.SIGKILL)
                killed.add((seen.pid, seen.born))
            if time.monotonic() > deadline:
                break  # held by the kernel (a dead network mount); nothing more can be done
            time.sleep(0.001)
            self.reap()
        self.reap()
        return len(killed)

    def survivors(self) -> int:
        """After the main process ended: give the rest a moment, then kill it."""
        if self.contained:
            return 0
        deadline = time.monotonic() + LEAVE_S
        while self.members():
            if time.monotonic() > deadline:
                return self.kill()
            time.sleep(0.002)
            self.reap()
        self.reap()
        return 0

    def reap(self) -> None:
        """Collect dead orphans of this tree, so that none stays a zombie."""
        if LINUX and not self.contained:
            for orphan in self._orphans():
                if orphan.dead:
                    _wait(orphan.pid)

    def _orphans(self) -> list[Seen]:
        if not LINUX or self.contained:
            return []
        with START_LOCK:
            mine = os.getsid(0)
            strangers = [
                seen
                for seen in map(_look, _children(os.getpid()))
                if seen
                and seen.session != mine
                and seen.pid not in _live
                and seen.pid not in _spared
            ]
            return [seen for seen in strangers if self._claims(seen)]

    def _claims(self, seen: Seen) -> bool:
        if self._seen.get(seen.pid) == seen.born or seen.session in self._sessions:
            return True
        if seen.born < self.born:
            return False
        others = [t for t in list(_live.values()) if t is not self and not t.contained]
        return all(seen.born < tree.born for tree in others)

    def _by_session(self) -> Iterator[int]:
        import psutil

        for pid in psutil.pids():
            try:
                if os.getsid(pid) in self._sessions:
                    yield pid
            except OSError:
                continue


@contextmanager
def halted(tree: Tree, wanted: bool) -> Iterator[None]:
    """Put all of the tree to sleep for half of the time while the body lasts, where it is wanted.

    Clocks that tell the time of day go on meanwhile: to them it runs at half its speed.
    """
    over = threading.Event()

    def halt() -> None:
        while not over.wait(HALT_S):
            tree.signal(signal.SIGSTOP)
            over.wait(HALT_S)
            tree.signal(signal.SIGCONT)

    thread = threading.Thread(target=halt, name="halting", daemon=True)
    if wanted:
        thread.start()
    try:
        yield
    finally:
        over.set()
        if wanted:
            thread.join()


def kill_all() -> None:
    """Kill every live tree at once, as the last thing this process does: the second ^C."""
    # Taken for good, so that nothing starts any more; not for ever, since the thread that the
    # signal interrupted may be the one that holds it.
    START_LOCK.acquire(timeout=0.2)
    for tree in list(_live.values()):
        for seen in tree.descendants([tree.pid]):
            _kill(seen.pid, signal.SIGKILL)


def spare(pid: int) -> None:
    """This child of ours is nobody's orphan."""
    _spared.add(pid)


def become_reaper() -> None:
    """Make orphans of uncontained children ours instead of init's (Linux)."""
    global _reaping  # noqa: PLW0603 - a property of this process, set once
    if _reaping or not LINUX:
        return
    import ctypes

    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    _reaping = True


def collect(pid: int | None) -> None:
    """Wait, for a second at most, until an orphan that became ours is gone, and collect it."""
    if pid is None:
        return
    deadline = time.monotonic() + 1.0
    with suppress(ChildProcessError):  # not ours: its parent, or init, collects it
        while os.waitpid(pid, os.WNOHANG) == (0, 0) and time.monotonic() < deadline:
            time.sleep(0.001)


def exit_descriptor(pid: int) -> int | None:
    """A descriptor that becomes readable when the process ends, where there is such a thing."""
    if not hasattr(os, "pidfd_open"):
        return None
    with suppress(OSError):
        return os.pidfd_open(pid)
    return None


def _kill(pid: int, number: int) -> None:
    # gone meanwhile, or it changed its user: nothing we may do
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _wait(pid: int) -> None:
    with suppress(ChildProcessError):  # somebody else reaped it
        os.waitpid(pid, os.WNOHANG)


def _read(path: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(descriptor, 1 << 16)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def _look(pid: int) -> Seen | None:
    if not LINUX:
        return _look_elsewhere(pid)
    text = _read(f"/proc/{pid}/stat")
    fields = text[text.rfind(b")") + 2 :].split()
    if len(fields) < 22:
        return None
    return Seen(
        pid, float(fields[19]), int(fields[3]), int(fields[21]) * PAGE, fields[0] in (b"Z", b"X")
    )


def _look_elsewhere(pid: int) -> Seen | None:
    import psutil

    try:
        process = psutil.Process(pid)
        dead = process.status() == psutil.STATUS_ZOMBIE
        rss = 0 if dead else process.memory_info().rss
        return Seen(pid, process.create_time(), os.getsid(pid), rss, dead)
    except (psutil.Error, OSError):
        return None


def _children(pid: int) -> Iterable[int]:
    if not LINUX:
        return _children_elsewhere(pid)
    try:
        with os.scandir(f"/proc/{pid}/task") as tasks:
            texts = [_read(f"{task.path}/children") for task in tasks]
    except OSError:
        return []
    return [int(child) for text in texts for child in text.split()]


def _children_elsewhere(pid: int) -> Iterable[int]:
    import psutil

    try:
        return [child.pid for child in psutil.Process(pid).children()]
    except psutil.Error:
        return []


def _share(pid: int, rss: int) -> int:
    """A process's part of the memory it holds; all of it where that cannot be told."""
    text = _read(f"/proc/{pid}/smaps_rollup") if LINUX else b""
    at = text.find(b"\nPss:")
    return int(text[at + 5 : text.find(b"kB", at)]) * 1024 if at >= 0 else rss


def _high_water(pid: int) -> int:
    if not LINUX:
        return 0
    status = _read(f"/proc/{pid}/status")
    at = status.find(b"VmHWM:")
    return int(status[at + 6 : status.find(b"kB", at)]) * 1024 if at >= 0 else 0


@contextmanager
def held_to(cpus: frozenset[int]) -> Iterator[None]:
    """Hold this thread to some cores while it starts a child, which takes that over."""
    if not cpus:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
