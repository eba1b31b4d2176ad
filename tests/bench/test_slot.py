from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from selfimprove.bench.slot import Slot
from selfimprove.errors import Stopped, ToolError
from selfimprove.process import StopToken

HOLD = """
import sys, time
from pathlib import Path
from selfimprove.bench.slot import Slot
from selfimprove.process import StopToken
with Slot(StopToken(), directory=Path(sys.argv[1])).hold("another benchmark"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_two_threads_never_hold_it_at_once(tmp_path: Path):
    inside, most = [0], [0]

    def work() -> None:
        with Slot(StopToken(), directory=tmp_path / "slots").hold("a benchmark"):
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            time.sleep(0.02)
            inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]


def test_another_process_is_waited_for_by_name_and_its_death_frees_the_slot(tmp_path: Path):
    other = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    told: list[str] = []

    def say(text: str) -> None:
        told.append(text)
        other.kill()
        other.wait()

    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with Slot(StopToken(), say, tmp_path).hold("mine"):
            pass
    finally:
        other.kill()
        other.wait()
        other.stdout.close()
    assert (
        told[0]
        == f"waiting for the measuring slot, held by process {other.pid} (another benchmark)"
    )


def test_waiting_ends_when_the_run_is_stopped(tmp_path: Path):
    stop = StopToken()
    holding, done = threading.Event(), threading.Event()

    def hold() -> None:
        with Slot(StopToken(), directory=tmp_path).hold("x"):
            holding.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        holding.wait()
        with pytest.raises(Stopped), Slot(stop, lambda _: stop.set(), tmp_path).hold("y"):
            pass
    finally:
        done.set()
        thread.join()


def test_a_thread_may_hold_it_twice_and_gives_it_back(tmp_path: Path):
    slot = Slot(StopToken(), directory=tmp_path, names=("machine", "gpu-0"))
    with pytest.raises(RuntimeError), slot.hold("pairs"), slot.hold("a sample"):
        raise RuntimeError
    assert sorted(os.listdir(tmp_path)) == ["gpu-0.lock", "machine.lock"]
    with slot.hold("again"):
        assert (tmp_path / "gpu-0.holder").exists()


def test_a_file_in_its_place_is_named(tmp_path: Path):
    (tmp_path / "slots").write_text("")
    slot = Slot(StopToken(), directory=tmp_path / "slots")
    with pytest.raises(ToolError, match="slots: not a folder"), slot.hold("x"):
        pass
