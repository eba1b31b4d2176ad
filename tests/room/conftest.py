"""A machine of one's own: a home, a target checkout and a candidate's tree, below tmp_path."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from room_machine import SYSTEM_PATH, Machine

from selfimprove.process import Outcome
from selfimprove.room.job import Job


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    base = tmp_path / "a machine é"
    home, target, tree = base / "home", base / "home" / "my proj", base / "cache" / "tree"
    for folder in (home, target, tree):
        folder.mkdir(parents=True)
    (target / "who").write_text("checkout")
    (target / ".git").mkdir()
    (tree / "who").write_text("candidate")
    for name in ("PYENV_ROOT", "CARGO_HOME", "RUSTUP_HOME", "VIRTUAL_ENV"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", SYSTEM_PATH)
    return Machine(base, home, target, tree, monkeypatch)


Run = Callable[..., Outcome]


@pytest.fixture
def run(machine: Machine) -> Run:
    """Run a shell command as a benchmark in a fresh room."""

    def run_it(command: str, mode: str = "auto", **fields: object) -> Outcome:
        job = {"profile": "benchmark", "tree": machine.tree} | {
            name: fields.pop(name)
            for name in ("profile", "tree", "env", "read_only_tree", "result_file", "timeout")
            if name in fields
        }
        return machine.room(mode, **fields).run(Job(command, **job))  # type: ignore[arg-type]

    return run_it
