"""Full disks, places that cannot be written, a second run: one line, and nothing lost."""

from __future__ import annotations

import errno
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from selfimprove.testing import Repository

from .conftest import Machine, later, tracked, untouched
from .test_agents import spoken

ROOT = ".selfimprove/default"
IMPROVE = "improve/lower_the_score"
WRITES = 160
"""One more than the files and lines that a run of one round makes sure of."""
AS_ROOT = pytest.mark.skipif(
    os.geteuid() != 0 or sys.platform != "linux", reason="mounting a file system needs root"
)


class FullDisk:
    """Fails the n-th fsync, and every one after it until there is space again."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.calls = 0
        self._real = os.fsync

    def __call__(self, handle: int) -> None:
        self.calls += 1
        if self.calls >= self.at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._real(handle)


def fills_up(machine: Machine, target: Repository, at: int) -> bool:
    """A run on a disk that fills up, then another with space; whether the first one noticed."""
    disk = FullDisk(at)
    with untouched(target.path):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "fsync", disk)
            answer = machine.run(target.path)
        noticed = disk.calls >= at
        if noticed:
            told = answer.line()
            assert answer.code == 1
            assert "No space left on device; free some space" in told
            assert str(target.path / ".selfimprove") in told or str(machine.trees) in told
        machine.run(target.path).worked()
    assert tracked(target.path, IMPROVE, "src/conf.py") == "LIMIT = 50"
    found = machine.call("validate", target.path)
    assert found.code == 0, found.out
    history = machine.call("history", target.path, "--json").worked()
    assert len(json.loads(history.out)) == 1
    return noticed


@pytest.mark.parametrize("at", [3, later(70)])
def test_a_disk_that_fills_up(machine: Machine, target: Repository, at: int) -> None:
    assert fills_up(machine, target, at)


@pytest.mark.long
@pytest.mark.parametrize("at", [1, 12, *range(4, WRITES, 21)])
def test_a_disk_that_fills_up_anywhere(machine: Machine, target: Repository, at: int) -> None:
    fills_up(machine, target, at)


@pytest.mark.crash
@pytest.mark.parametrize("at", [*range(1, WRITES), pytest.param(WRITES, id="later than any")])
def test_a_disk_that_fills_up_at_every_write(machine: Machine, target: Repository, at: int) -> None:
    assert fills_up(machine, target, at) == (at < WRITES)


@contextmanager
def small_disk(place: Path, size: str) -> Iterator[None]:
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    done = subprocess.run(words, capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"tmpfs cannot be mounted here: {done.stderr.decode().strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=False)


@AS_ROOT
@pytest.mark.parametrize("size", ["8k", later("24k"), later("48k")])
def test_documents_on_a_full_disk(
    machine: Machine, target: Repository, tmp_path: Path, size: str
) -> None:
    disk = tmp_path / "disk"
    with small_disk(disk, size):
        with untouched(target.path):
            answer = machine.run(target.path, "--root", disk / "root")
        told = answer.line()
        assert answer.code == 1
        assert "No space left on device" in told
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        machine.run(target.path, "--root", disk / "root").worked()
        assert machine.call("validate", target.path, "--root", disk / "root").code == 0
    assert tracked(target.path, IMPROVE, "src/conf.py") == "LIMIT = 50"


@AS_ROOT
@pytest.mark.parametrize("size", [later("4k"), later("64k"), later("100k")])
def test_trees_on_a_full_disk(
    machine: Machine, target: Repository, tmp_path: Path, size: str
) -> None:
    disk = tmp_path / "disk"
    trees = ("--trees", disk / "trees")
    with small_disk(disk, size):
        with untouched(target.path):
            answer = machine.run(target.path, *trees)
        told = answer.line()
        assert answer.code == 1, told
        assert "No space left on device" in told
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        machine.run(target.path, *trees).worked()
    assert tracked(target.path, IMPROVE, "src/conf.py") == "LIMIT = 50"
    assert machine.call("validate", target.path).code == 0


@AS_ROOT
def test_a_read_only_target(machine: Machine, target: Repository) -> None:
    done = subprocess.run(["mount", "--bind", str(target.path), str(target.path)], check=False)
    if done.returncode:
        pytest.skip("nothing can be mounted here")
    try:
        remount = ["mount", "-o", "remount,ro,bind", str(target.path)]
        subprocess.run(remount, check=True)
        machine.run(target.path).refused(1, "Read-only file system", "--root")
    finally:
        subprocess.run(["umount", "--lazy", str(target.path)], check=False)


# places that are something else


@pytest.mark.parametrize("name", [".selfimprove", ROOT, f"{ROOT}/config", f"{ROOT}/state"])
def test_a_file_where_the_root_should_be(machine: Machine, target: Repository, name: str) -> None:
    place = target.path / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("mine\n")
    answer = machine.run(target.path)
    told = answer.line()
    assert answer.code in (1, 3), told
    assert name in told
    assert place.read_text() == "mine\n"


@pytest.mark.parametrize("flag", ["--root", "--trees"])
def test_a_file_given_as_a_folder(
    machine: Machine, target: Repository, tmp_path: Path, flag: str
) -> None:
    place = tmp_path / "file"
    place.write_text("mine\n")
    answer = machine.run(target.path, flag, place)
    told = answer.line()
    assert answer.code in (1, 3), told
    assert str(place) in told
    assert place.read_text() == "mine\n"


@pytest.mark.long
def test_a_temporary_folder_that_is_not_there(
    machine: Machine, target: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [sys.executable, "-m", "selfimprove", "run", str(target.path), "--yes"]
    env = {**os.environ, "TMPDIR": str(tmp_path / "absent")}
    words += ["--max-iterations", "0", "--trees", str(tmp_path / "trees")]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


# real processes


def started(machine: Machine, target: Repository, *more: str) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", "selfimprove", "run", str(target.path), "--yes"]
    words += ["--trees", str(machine.trees), "--agents", "1", *more]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.long
def test_a_second_run_of_the_same_topic(machine: Machine, target: Repository) -> None:
    first = started(machine, target, "--agent", spoken("endless"))
    try:
        holder = target.path / ROOT / "lock.json"
        journal = target.path / ROOT / "state/journal/round_1.jsonl"
        deadline = time.monotonic() + 60
        while not (journal.exists() and "agent.ask" in journal.read_text()):
            assert first.poll() is None, first.communicate()[1]
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert json.loads(holder.read_text())["pid"] == first.pid
        for command in ("run", "benchmark"):
            words = [command, target.path, "--yes", "--trees", machine.trees]
            machine.call(*words).refused(5, f"process {first.pid}", "selfimprove stop")
        status = machine.call("status", target.path, "--json").worked()
        assert json.loads(status.out)["alive"] is True
        assert machine.call("doctor", target.path, "--trees", machine.trees).code in (0, 1)
        machine.call("stop", target.path).worked()
        _, err = first.communicate(timeout=60)
    finally:
        first.kill()
    assert first.returncode == 130, err
    assert b"Traceback" not in err
    machine.run(target.path, "--max-iterations", 1).worked()
    assert tracked(target.path, IMPROVE, "src/conf.py") == "LIMIT = 50"


@pytest.mark.long
def test_files_may_not_grow(machine: Machine, target: Repository) -> None:
    """RLIMIT_FSIZE, as `ulimit -f` sets it."""
    words = [sys.executable, "-m", "selfimprove", "run", str(target.path), "--yes"]
    words += ["--trees", str(machine.trees), "--max-iterations", "0"]
    limited = f"ulimit -f 4; exec {shlex.join(words)}"
    with untouched(target.path):
        done = subprocess.run(["bash", "-c", limited], capture_output=True, text=True, check=False)
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 1, done.stderr
    assert last.startswith("selfimprove: error: ")
    assert "File too large; raise the limit on file sizes" in last
    assert str(target.path / ROOT) in last
    assert "Traceback" not in done.stderr
    machine.run(target.path).worked()
    assert tracked(target.path, IMPROVE, "src/conf.py") == "LIMIT = 50"
