"""What a process has started does not outlive it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from test_process import gone

PROGRAM = """
import sys
from pathlib import Path
from selfimprove.process import Child, base_env, run_child
run_child(Child(("sh", "-c", "true"), Path("/"), base_env()))
script = "sleep 300 & echo $! > $0; wait"
run_child(Child(("sh", "-c", script, sys.argv[1]), Path("/"), base_env()))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_is_left_of_a_process_that_was_killed(tmp_path: Path, number: int) -> None:
    told = tmp_path / "pid"
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, str(told)])
    deadline = time.monotonic() + 60
    while not (told.exists() and told.read_text().strip()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    sleeping = int(told.read_text())
    helpers = [child.pid for child in psutil.Process(process.pid).children(recursive=True)]
    assert sleeping in helpers
    os.kill(process.pid, number)
    process.wait()
    assert [pid for pid in helpers if not gone(pid, within=10.0)] == []
