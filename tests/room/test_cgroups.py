"""Limits that the kernel keeps, where it lets us."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from room_machine import contained_only

from selfimprove.process import Limits, Outcome
from selfimprove.room import cgroups
from selfimprove.room.cgroups import Group, Parent, bounded, parent

Run = Callable[..., Outcome]
BOTH = pytest.mark.parametrize("mode", [pytest.param("auto", marks=contained_only), "off"])
memory_only = pytest.mark.skipif(parent("memory") is None, reason="no memory group is delegated")
tasks_only = pytest.mark.skipif(parent("pids") is None, reason="no pids group is delegated")


def ours() -> list[Path]:
    parents = [found for name in ("memory", "pids") if (found := parent(name))]
    return [one for found in parents for one in found.folder.glob(f"{cgroups.PREFIX}*")]


@memory_only
@BOTH
def test_memory_that_is_taken_at_once(run: Run, mode: str) -> None:
    code = "x = bytearray(300 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1"
    outcome = run(f"python3 -c '{code}'", mode, sandbox={"memory_mb": 60})
    assert outcome.exceeded == "memory"
    assert ours() == []


@tasks_only
@BOTH
def test_processes_that_are_started_at_once(run: Run, mode: str) -> None:
    code = "import os\nfor _ in range(900):\n  if not os.fork(): os.execlp('sleep', 'sleep', '9')"
    outcome = run(f'python3 -c "{code}"', mode, sandbox={"processes": 4})
    assert outcome.exceeded == "processes"
    assert ours() == []


@memory_only
@tasks_only
def test_who_joins_is_held_and_nothing_is_left() -> None:
    with bounded(Limits(memory_bytes=100 << 20, processes=5)) as group:
        assert all(folder.is_dir() for folder in group.folders)
        assert group.exceeded() == ""
        assert group.joined(("x",))[-1] == "x"
    assert ours() == []
    with bounded(None) as group:
        assert group.folders == ()
        assert group.joined(("x", "y")) == ("x", "y")


def test_what_a_killed_run_left_is_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroups, "parent", lambda _: Parent(tmp_path, unified=True))
    for name in ("selfimprove-1-a", "selfimprove-999999999-b", "other"):
        (tmp_path / name).mkdir()
    cgroups.sweep()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["other", "selfimprove-1-a"]


def test_which_limit_was_kept_is_read_in_both_hierarchies(tmp_path: Path) -> None:
    group = Group(tmp_path, tmp_path)
    assert group.exceeded() == ""
    (tmp_path / "pids.events").write_text("max 2\n")
    assert group.exceeded() == "processes"
    (tmp_path / "memory.events").write_text("low 0\noom_kill 1\n")
    assert group.exceeded() == "memory"
    (tmp_path / "memory.events").unlink()
    (tmp_path / "memory.oom_control").write_text("under_oom 0\noom_kill 1\n")
    assert group.exceeded() == "memory"


def test_where_a_unified_group_can_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroups, "ROOT", tmp_path)
    own = tmp_path / "user" / "app"
    own.mkdir(parents=True)
    (own / "cgroup.subtree_control").write_text("")
    (tmp_path / "user" / "cgroup.subtree_control").write_text("cpu memory pids")
    found = list(cgroups._candidates("", "memory", "user/app"))
    assert found == [Parent(tmp_path / "user", unified=True)]
    assert list(cgroups._candidates("cpu,memory", "memory", "x")) == [
        Parent(tmp_path / "cpu,memory" / "x", unified=False)
    ]
    assert list(cgroups._candidates("cpu", "memory", "x")) == []
