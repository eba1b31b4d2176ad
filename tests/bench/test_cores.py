"""Waiting for a free core, by an injected reader; nothing here depends on this machine's load."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from selfimprove.bench.cores import LOOKS, Load, cores, runnable
from selfimprove.bench.slot import Slot
from selfimprove.errors import ConfigError, Stopped
from selfimprove.process import Child, StopToken, run_child

LINUX = pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="Linux alone")


class Machine:
    """Two cores, what others want of them look by look, and a clock that only sleep moves."""

    def __init__(self, others: list[float], most_s: float = 60) -> None:
        self.others: Iterator[float] = iter(others)
        self.said: list[str] = []
        self.slept = 0.0
        self.load = Load(most_s, self.said.append, 2, lambda: next(self.others), self._sleep)

    def _sleep(self, seconds: float) -> None:
        self.slept += seconds


def test_a_free_core_costs_one_look_and_no_time() -> None:
    machine = Machine([1.0])
    machine.load.wait(StopToken())
    assert (machine.slept, machine.said) == (0.0, [])


def test_a_moment_without_a_free_core_is_no_load() -> None:
    machine = Machine([5.0] * (LOOKS - 1) + [1.0])
    machine.load.wait(StopToken())
    assert machine.slept < 1
    assert machine.said == []


def test_it_waits_until_a_core_is_free_and_says_so_once() -> None:
    machine = Machine([3.0] * 4 * LOOKS + [0.0])
    machine.load.wait(StopToken())
    assert machine.slept > 4
    (said,) = machine.said
    assert "all 2 cores" in said
    assert "60 s at most" in said


def test_after_a_wait_in_vain_it_waits_no_more_until_a_core_was_free() -> None:
    machine = Machine([3.0] * 4 * LOOKS + [3.0] * LOOKS + [0.0] + [3.0] * LOOKS + [0.0], most_s=3)
    machine.load.wait(StopToken())
    assert "measuring beside other work" in machine.said[-1]
    assert len(machine.said) == 2
    before = machine.slept
    machine.load.wait(StopToken())  # still taken
    assert machine.slept - before < 1
    machine.load.wait(StopToken())  # free
    machine.load.wait(StopToken())  # taken again: worth another wait
    assert len(machine.said) == 3


def test_it_does_not_look_where_it_is_told_not_to_wait() -> None:
    machine = Machine([], most_s=0)
    machine.load.wait(StopToken())


def test_a_person_can_stop_the_wait_and_the_slot_is_free_then(tmp_path: Path) -> None:
    stop, machine = StopToken(), Machine([3.0] * 100)
    stop.set()
    slot = Slot(stop, directory=tmp_path, load=machine.load)
    with pytest.raises(Stopped), slot.hold("a benchmark"):
        pytest.fail("it was to wait")  # pragma: no cover
    with Slot(StopToken(), directory=tmp_path).hold("another"):
        pass


@pytest.mark.skipif(not Path("/proc/stat").exists(), reason="Linux alone")
def test_what_is_read_here_is_a_count_of_threads() -> None:
    read = runnable()
    assert read >= 0
    assert read == int(read)


@LINUX
def test_a_child_is_held_to_its_cores_and_this_process_is_not() -> None:
    before = os.sched_getaffinity(0)
    one = cores("auto")
    assert len(one) == 1
    told = "import os; print(sorted(os.sched_getaffinity(0)))"
    done = run_child(Child((sys.executable, "-c", told), Path("/"), dict(os.environ), cpus=one))
    assert done.stdout.decode().strip() == str(sorted(one))
    assert os.sched_getaffinity(0) == before


@LINUX
def test_a_core_that_is_not_there_is_named() -> None:
    assert cores("off") == frozenset()
    assert cores([max(os.sched_getaffinity(0))])
    with pytest.raises(ConfigError, match="there is no core 4096"):
        cores([4096])
