"""run_child: what it hands back, and that nothing of a child outlives it."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from selfimprove.errors import Stopped
from selfimprove.process import Child, Outcome, StopToken, base_env, run_child, signals_to

LINUX = sys.platform == "linux"


def sh(tmp_path: Path, script: str, stop: StopToken | None = None, **fields: object) -> Outcome:
    child = Child(("/bin/sh", "-c", script), tmp_path, base_env(), **fields)  # type: ignore[arg-type]
    return run_child(child, stop)


def gone(pid: int, within: float = 2.0) -> bool:
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.01)
    return False


def test_streams_exit_code_and_stdin(tmp_path: Path) -> None:
    outcome = sh(tmp_path, "cat; echo oops >&2; exit 3", stdin=b"hello")
    assert (outcome.stdout, outcome.stderr, outcome.exit_code) == (b"hello", b"oops\n", 3)
    assert not outcome.truncated
    assert not outcome.timed_out
    assert outcome.survivors == 0


def test_died_of_a_signal(tmp_path: Path) -> None:
    assert sh(tmp_path, "kill -SEGV $$").exit_code == -signal.SIGSEGV


@pytest.mark.parametrize("argv", [("no-such-program",), ("bad\0name",)])
def test_not_started(tmp_path: Path, argv: tuple[str, ...]) -> None:
    outcome = run_child(Child(argv, tmp_path, base_env()))
    assert outcome.exit_code is None
    assert argv[0] in outcome.error


def test_missing_directory_is_named(tmp_path: Path) -> None:
    outcome = run_child(Child(("true",), tmp_path / "nowhere", base_env()))
    assert "nowhere" in outcome.error


def test_large_stdin_that_nobody_reads(tmp_path: Path) -> None:
    assert sh(tmp_path, "exit 0", stdin=b"x" * (4 << 20)).exit_code == 0


def test_only_the_given_environment(tmp_path: Path) -> None:
    outcome = run_child(Child(("/usr/bin/env",), tmp_path, {"ONLY": "this"}))
    assert outcome.stdout == b"ONLY=this\n"


def test_flood_of_output_is_capped(tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    log = tmp_path / "logs" / "flood.log"
    outcome = sh(
        tmp_path,
        "echo first; head -c 100000000 /dev/zero; echo; echo last",
        output_cap=10_000,
        log=log,
        log_cap=1 << 20,
    )
    assert outcome.truncated
    assert outcome.stdout.startswith(b"first\n")
    assert outcome.stdout.endswith(b"last\n")
    assert b"bytes left out" in outcome.stdout
    assert len(outcome.stdout) < 11_000
    assert (1 << 20) <= log.stat().st_size < (1 << 20) + 100
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown_kib < 20_000


def test_log_holds_both_streams(tmp_path: Path) -> None:
    log = tmp_path / "both.log"
    sh(tmp_path, "echo one; echo two >&2", log=log)
    assert sorted(log.read_text().split()) == ["one", "two"]


def test_timeout_kills_the_whole_tree(tmp_path: Path) -> None:
    script = "sleep 300 & echo $! > pids; (trap '' TERM; sleep 301 & echo $! >> pids; wait); wait"
    started = time.monotonic()
    outcome = sh(tmp_path, script, timeout=0.3)
    assert outcome.timed_out
    assert outcome.exit_code is None
    assert time.monotonic() - started < 4
    assert all(gone(int(pid)) for pid in (tmp_path / "pids").read_text().split())


def test_term_lets_a_program_tidy_up(tmp_path: Path) -> None:
    script = "trap 'echo tidied; exit 0' TERM; while :; do sleep 0.05; done"
    outcome = sh(tmp_path, script, timeout=0.3)
    assert outcome.timed_out
    assert b"tidied" in outcome.stdout
    assert outcome.duration_s < 1.5


def test_stop_kills_and_raises(tmp_path: Path) -> None:
    stop = StopToken()
    threading.Timer(0.2, stop.set).start()
    with pytest.raises(Stopped):
        sh(tmp_path, "echo $$ > pid; exec sleep 300", stop)
    assert gone(int((tmp_path / "pid").read_text()))


def test_background_process_with_the_pipe_does_not_hang(tmp_path: Path) -> None:
    started = time.monotonic()
    outcome = sh(tmp_path, "sleep 300 & echo $! > pid; echo done")
    assert time.monotonic() - started < 2
    assert (outcome.stdout, outcome.exit_code, outcome.survivors) == (b"done\n", 0, 1)
    assert gone(int((tmp_path / "pid").read_text()))


DAEMON = """
import os, sys, time
if os.fork(): os.waitpid(-1, 0); time.sleep({stay}); sys.exit()
os.setsid()
if os.fork(): os._exit(0)
open("pid", "w").write(str(os.getpid()))
for fd in (0, 1, 2): os.close(fd)
time.sleep(300)
"""


@pytest.mark.skipif(not LINUX, reason="orphans are found through the reaper, which Linux has")
@pytest.mark.parametrize("stay", [0.02, 0.2])
def test_daemon_that_left_its_session_is_killed(tmp_path: Path, stay: float) -> None:
    outcome = run_child(
        Child((sys.executable, "-c", DAEMON.format(stay=stay)), tmp_path, base_env())
    )
    assert outcome.exit_code == 0
    assert outcome.survivors == 1
    assert gone(int((tmp_path / "pid").read_text()))


@pytest.mark.skipif(not LINUX, reason="orphans are found through the reaper, which Linux has")
def test_parallel_children_do_not_kill_each_other(tmp_path: Path) -> None:
    """A long run with a daemon of its own beside many short ones, and a bare child of ours."""
    own = subprocess.Popen(["sleep", "300"])
    (tmp_path / "long").mkdir()
    script = "setsid sleep 302 & sleep 1; echo $!; kill -0 $! && echo alive"
    with ThreadPoolExecutor(4) as pool:
        long = pool.submit(sh, tmp_path / "long", script)
        short = [pool.submit(sh, tmp_path, "setsid sleep 0.01 & exit 0") for _ in range(20)]
        assert all(one.result().exit_code == 0 for one in short)
    outcome = long.result()
    assert own.poll() is None
    own.kill()
    own.wait()
    pid, word = outcome.stdout.split()
    assert word == b"alive"
    assert outcome.survivors == 1
    assert gone(int(pid))


@pytest.mark.skipif(not LINUX, reason="the high-water mark is read from /proc")
def test_peak_memory_of_the_tree(tmp_path: Path) -> None:
    code = "import time; x = b'x' * (80 << 20); time.sleep(0.3); del x; time.sleep(0.05)"
    outcome = run_child(
        Child(("/bin/sh", "-c", f'{sys.executable} -c "{code}"; true'), tmp_path, base_env())
    )
    assert 80 < outcome.memory_mb < 180


def test_watching_costs_little(tmp_path: Path) -> None:
    def cost(script: str) -> float:
        before = time.process_time()
        sh(tmp_path, script)
        return time.process_time() - before

    cost("true")
    # beside what it costs to start a child at all on this machine, as busy as it is now: a watcher
    # that never sleeps would burn the whole second
    start = min(cost("true") for _ in range(5))
    watched = min(cost("sleep 1") for _ in range(2))
    assert watched < 20 * start + 0.1


def test_no_descriptors_are_left_open(tmp_path: Path) -> None:
    sh(tmp_path, "true")
    before = psutil.Process().num_fds()
    for _ in range(5):
        sh(tmp_path, "cat", stdin=b"x", log=tmp_path / "log")
    assert psutil.Process().num_fds() == before


def test_signals(tmp_path: Path) -> None:
    stop = StopToken()
    handler = signal.getsignal(signal.SIGINT)
    with signals_to(stop):
        os.kill(os.getpid(), signal.SIGHUP)
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(Stopped):
            stop.raise_if_set()
    assert signal.getsignal(signal.SIGINT) is handler


def test_second_signal_ends_at_once(tmp_path: Path) -> None:
    code = f"""
import os, signal, threading, time
from pathlib import Path
from selfimprove.process import *
stop = StopToken()
child = Child(("/bin/sh", "-c", "trap '' TERM; echo $$ > pid; while :; do sleep 1; done"),
              Path({str(tmp_path)!r}), base_env())
with signals_to(stop):
    worker = threading.Thread(target=run_child, args=(child,))
    worker.start()
    while not Path({str(tmp_path / "pid")!r}).exists(): time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(10)
"""
    ended = subprocess.run([sys.executable, "-c", code], timeout=8, check=False)
    assert ended.returncode == 130
    assert gone(int((tmp_path / "pid").read_text()))
