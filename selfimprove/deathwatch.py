"""What this process has started does not outlive it, however it dies.

A small shell waits at the end of a pipe, and is told of every group of processes that is started
and that has ended. When the pipe closes, which no SIGKILL can prevent, it kills what is left.
"""

from __future__ import annotations

import os
import subprocess
import threading
from contextlib import suppress

_SHELL = """trap '' HUP INT TERM
all=' '
while read -r word pid; do
    case $word in
    +) all="$all$pid " ;;
    -) all="${all%% $pid *} ${all#* $pid }" ;;
    esac
done
for pid in $all; do kill -9 "-$pid" 2>/dev/null; done
"""
_lock = threading.Lock()
_owner = 0
_pipe = -1
_shell = 0


def watcher() -> int:
    """The process that watches, started where there is none yet; 0 where it cannot be."""
    global _owner, _pipe, _shell  # noqa: PLW0603 - a property of this process, set once
    with _lock:
        if _owner != os.getpid():  # the first time, or this process was forked from one that had it
            _owner, (ours, _pipe) = os.getpid(), os.pipe()
            _shell = _started(ours)
            os.close(ours)
        return _shell


def _started(pipe: int) -> int:
    try:
        shell = subprocess.Popen(
            ("/bin/sh", "-c", _SHELL),
            cwd="/",
            env={},
            stdin=pipe,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return 0
    shell.returncode = 0  # nobody waits for it: it ends after us
    return shell.pid


def begun(group: int) -> None:
    """This group of processes is alive now."""
    _tell(f"+ {group}\n")


def ended(group: int) -> None:
    """It is no more, and its number may be given to others."""
    _tell(f"- {group}\n")


def _tell(words: str) -> None:
    if _owner == os.getpid():
        with suppress(OSError):
            os.write(_pipe, words.encode())
