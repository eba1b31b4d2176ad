"""The one place that starts programs: whole-tree kill, capped output, watched memory.

A child runs in its own session. When its time is up, or a person asks to stop, the whole tree gets
TERM, a grace, and KILL; when it ends by itself, whatever it left behind is killed before its
output is handed back. Nothing here knows about sandboxes: `room/` builds the command.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Literal, Self

from selfimprove import deathwatch, proctree
from selfimprove.errors import Stopped
from selfimprove.outputs import Kept, Log, disk_usage
from selfimprove.redaction import Redactor

GRACE_S = 2.0
"""Between TERM and KILL."""
DRAIN_S = 1.0
"""How long output may still come once the whole tree is dead."""
POLL_FIRST_S, POLL_LAST_S, POLL_SLOWEST_S = 0.002, 0.05, 0.25
SAMPLE_SHARE = 100
"""Looking at the tree may take one part in this many of a core's time."""
DISK_EVERY_S, DISK_SHARE = 0.1, 10
"""How often the disk is looked at, and which part of a core's time that may take."""
CHUNK = 1 << 18


class StopToken:
    """Set once by a signal or a `stop` file; safe to read from any thread."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        """Ask everything to stop."""
        self._event.set()

    def is_set(self) -> bool:
        """Whether a stop was asked for."""
        return self._event.is_set()

    def raise_if_set(self) -> None:
        """Raise Stopped if a stop was asked for."""
        if self._event.is_set():
            raise Stopped("stopped by a person")

    def wait(self, seconds: float) -> bool:
        """Sleep, but not through a stop; True if one was asked for."""
        return self._event.wait(seconds)


@dataclass(frozen=True)
class Child:
    """A program to run, with everything it is given."""

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    timeout: float | None = None
    stdin: bytes = b""
    output_cap: int = 1 << 20
    """Bytes kept of each stream: its first and its last half, the middle dropped."""
    log: Path | None = None
    log_cap: int = 64 << 20
    redactor: Redactor | None = None
    """Cleans what goes into the log."""
    pass_fds: tuple[int, ...] = ()
    limits: Limits | None = None
    cpus: frozenset[int] = frozenset()
    """Cores that it and all it starts are held to, where any are named (Linux)."""
    halted: bool = False
    """It sleeps for half of the time: what a clock outside of it must notice."""
    contained: bool = False
    """A PID namespace holds the tree: killing the main process ends all of it."""


Exceeded = Literal["", "memory", "processes", "disk"]


@dataclass(frozen=True)
class Limits:
    """What a tree of processes may use, by watching it; None where there is no limit."""

    memory_bytes: int | None = None
    processes: int | None = None
    disk_bytes: int | None = None
    places: tuple[Path, ...] = ()
    """Folders that are its to write; what they hold at the start is not counted."""

    def used(self) -> int:
        """Bytes on disk below the places."""
        return sum(map(disk_usage, self.places)) if self.disk_bytes is not None else 0


@dataclass(frozen=True)
class Outcome:
    """How a child ended."""

    exit_code: int | None
    """None: not started, or killed by us; negative: died of that signal."""
    stdout: bytes
    stderr: bytes
    truncated: bool
    duration_s: float
    memory_mb: float
    """Peak resident memory of the tree as sampled; 0.0 where it was too short."""
    timed_out: bool
    survivors: int
    """Processes that had to be killed after the main one ended."""
    error: str = ""
    """Why it could not be started."""
    exceeded: Exceeded = ""
    """The limit for which it was ended."""
    unready: str = ""
    """Why it did not come to the command itself: a service that was not ready."""
    report: bytes = b""
    """What came through a descriptor of its own, where it was given one."""


def start_detached(argv: tuple[str, ...], env: Mapping[str, str], log: Path) -> int:
    """Start a program that outlives this one, its output appended to `log`; gives its id."""
    with log.open("ab") as output:
        popen = subprocess.Popen(
            argv,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    return popen.pid


def base_env() -> dict[str, str]:
    """The caller's environment; besides config.py nobody reads it elsewhere."""
    return dict(os.environ)


def run_child(child: Child, stop: StopToken | None = None) -> Outcome:
    """Run a program to its end and leave nothing of it behind; raises Stopped."""
    if stop is not None:
        stop.raise_if_set()
    started = time.monotonic()
    try:
        popen, tree = _start(child)
    except (OSError, ValueError) as error:
        return Outcome(None, b"", b"", False, 0.0, 0.0, False, 0, _why_not(child, error))
    with ExitStack() as stack:
        streams = stack.enter_context(_Streams(child, popen))
        stack.callback(_forget, popen, tree)  # runs first: nothing lives when the pipes close
        watch = _Watch(child, tree, streams, stop)
        with proctree.halted(tree, child.halted):
            timed_out = watch.until_end(popen, started)
        duration = time.monotonic() - started
        survivors = tree.survivors()
        streams.drain(time.monotonic() + DRAIN_S)
        if watch.stopped and stop is not None:
            stop.raise_if_set()
        return Outcome(
            exit_code=None if timed_out else popen.wait(),
            stdout=streams.stdout.value(),
            stderr=streams.stderr.value(),
            truncated=bool(streams.stdout.dropped or streams.stderr.dropped),
            duration_s=duration,
            memory_mb=tree.peak_bytes / proctree.MIB,
            timed_out=timed_out,
            survivors=survivors,
            exceeded=watch.exceeded or watch.over_limit(final=True),
        )


def _start(child: Child) -> tuple[subprocess.Popen[bytes], proctree.Tree]:
    if not child.contained:
        proctree.become_reaper()
        proctree.spare(deathwatch.watcher())
    with proctree.START_LOCK, proctree.held_to(child.cpus):
        popen = subprocess.Popen(
            child.argv,
            cwd=child.cwd,
            env=dict(child.env),
            stdin=subprocess.PIPE if child.stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            pass_fds=child.pass_fds,
            start_new_session=True,
        )
        if not child.contained:
            deathwatch.begun(popen.pid)
        return popen, proctree.Tree(popen.pid, child.contained)


def _forget(popen: subprocess.Popen[bytes], tree: proctree.Tree) -> None:
    if popen.poll() is None:  # an exception passes through: ^C in a caller's thread, a full disk
        tree.kill()
    popen.wait()
    tree.forget()
    if not tree.contained:
        deathwatch.ended(popen.pid)


def _why_not(child: Child, error: OSError | ValueError) -> str:
    if isinstance(error, OSError):
        return f"{error.filename or child.argv[0]}: {error.strerror}"
    return f"{child.argv[0]}: {error}"


class _Watch:
    """Moves bytes and looks at the tree until the main process has ended."""

    def __init__(
        self, child: Child, tree: proctree.Tree, streams: _Streams, stop: StopToken | None
    ) -> None:
        self.child = child
        self.tree = tree
        self.streams = streams
        self.stop = stop
        self.stopped = False
        self.exceeded: Exceeded = ""
        self.pause = POLL_FIRST_S
        self.limits = child.limits or Limits()
        self.disk_before = self.limits.used()
        self.disk_at = 0.0

    def until_end(self, popen: subprocess.Popen[bytes], started: float) -> bool:
        """Wait for the end, by itself or by us; True when its time was up."""
        deadline = started + self.child.timeout if self.child.timeout is not None else None
        sample_at = started
        while popen.poll() is None:
            now = time.monotonic()
            if now >= sample_at:
                sample_at = self._sample()
                self.exceeded = self.over_limit()
                now = time.monotonic()
            if self.exceeded:
                self._kill(popen)
                return False
            if self.stop is not None and self.stop.is_set():
                self.stopped = True
                self._end(popen)
                return False
            if deadline is not None and now >= deadline:
                self._end(popen)
                return True
            self.streams.turn(max(min(sample_at, deadline or sample_at) - now, 0.0))
        return False

    def _sample(self) -> float:
        before = time.thread_time()
        self.tree.sample()
        cost = time.thread_time() - before
        pause = max(self.pause, min(cost * SAMPLE_SHARE, POLL_SLOWEST_S))
        self.pause = min(self.pause * 1.5, POLL_LAST_S)
        return time.monotonic() + pause

    def _end(self, popen: subprocess.Popen[bytes]) -> None:
        self.tree.signal(signal.SIGTERM)
        deadline = time.monotonic() + GRACE_S
        while popen.poll() is None and time.monotonic() < deadline:
            self.streams.turn(0.02)
        if popen.poll() is None:
            self._kill(popen)

    def _kill(self, popen: subprocess.Popen[bytes]) -> None:
        self.tree.signal(signal.SIGKILL)
        if not self.tree.contained:
            self.tree.kill()
        popen.wait()

    def over_limit(self, final: bool = False) -> Exceeded:
        """Which limit the tree is beyond; the disk is looked at less often, since it takes long."""
        limits, tree = self.limits, self.tree
        if limits.processes is not None and tree.most > limits.processes:
            return "processes"
        if limits.memory_bytes is not None and tree.holds_more_than(limits.memory_bytes):
            return "memory"
        if limits.disk_bytes is None or (not final and time.monotonic() < self.disk_at):
            return ""
        began = time.monotonic()
        used = limits.used() - self.disk_before
        now = time.monotonic()
        self.disk_at = now + max(DISK_EVERY_S, (now - began) * DISK_SHARE)
        return "disk" if used > limits.disk_bytes else ""


class _Streams:
    """The child's standard streams, served by one selector."""

    def __init__(self, child: Child, popen: subprocess.Popen[bytes]) -> None:
        self.stdout, self.stderr = Kept(child.output_cap), Kept(child.output_cap)
        self._selector = selectors.DefaultSelector()
        self._popen = popen
        self._unsent = memoryview(child.stdin)
        self._log = Log(child.log, child.log_cap, child.redactor)
        self._exit_fd = proctree.exit_descriptor(popen.pid)
        self._reading: dict[int, Kept] = {}

    def __enter__(self) -> Self:
        for pipe, kept in ((self._popen.stdout, self.stdout), (self._popen.stderr, self.stderr)):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
            self._reading[pipe.fileno()] = kept
            self._selector.register(pipe.fileno(), selectors.EVENT_READ)
        if self._popen.stdin is not None:
            os.set_blocking(self._popen.stdin.fileno(), False)
            self._selector.register(self._popen.stdin.fileno(), selectors.EVENT_WRITE)
        if self._exit_fd is not None:
            self._selector.register(self._exit_fd, selectors.EVENT_READ)
        return self

    def __exit__(self, *_: object) -> None:
        self._selector.close()
        for pipe in (self._popen.stdin, self._popen.stdout, self._popen.stderr):
            if pipe is not None:
                pipe.close()
        if self._exit_fd is not None:
            os.close(self._exit_fd)
        self._log.close()

    def turn(self, timeout: float) -> None:
        """Wait at most `timeout` for bytes or the end, and move what there is."""
        for key, _ in self._selector.select(timeout):
            if key.fd in self._reading:
                self._receive(key.fd)
            elif key.fd != self._exit_fd:
                self._send(key.fd)

    def drain(self, deadline: float) -> None:
        """Read what is left; a process that escaped with a pipe cannot hold this up."""
        if self._exit_fd is not None:
            self._selector.unregister(self._exit_fd)
            os.close(self._exit_fd)
            self._exit_fd = None
        while self._reading and (left := deadline - time.monotonic()) > 0:
            self.turn(left)

    def _receive(self, descriptor: int) -> None:
        try:
            data = os.read(descriptor, CHUNK)
        except BlockingIOError:
            return
        if data:
            self._reading[descriptor].add(data)
            self._log.add(data)
        else:
            self._selector.unregister(descriptor)
            del self._reading[descriptor]

    def _send(self, descriptor: int) -> None:
        try:
            sent = os.write(descriptor, self._unsent[:CHUNK])
        except BlockingIOError:
            return
        except BrokenPipeError:
            sent = len(self._unsent)  # it does not want to know: not an error of ours
        self._unsent = self._unsent[sent:]
        if not self._unsent:
            self._selector.unregister(descriptor)
            assert self._popen.stdin is not None
            self._popen.stdin.close()


@contextmanager
def signals_to(stop: StopToken) -> Iterator[None]:
    """^C and SIGTERM set `stop`, a second one ends at once; SIGHUP is ignored."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(_number: int, _frame: FrameType | None) -> None:
        if stop.is_set():
            proctree.kill_all()
            os._exit(Stopped.exit_code)
        stop.set()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    before[signal.SIGHUP] = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
