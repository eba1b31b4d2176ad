"""The real command line on targets whose environment lies beside the code."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from selfimprove.app import run as run_module
from selfimprove.cli import main
from selfimprove.room.isolation import Level
from selfimprove.testing import Repository
from selfimprove.testing.levels import hold_to, release
from selfimprove.vcs.state import user_state
from selfimprove.vcs.target import open_target


@dataclass(frozen=True)
class Ran:
    """How a run ended, and what it left."""

    code: int
    out: str
    err: str
    root: Path

    def document(self, path: str) -> Any:
        """One document of the record."""
        return json.loads((self.root / path).read_text())

    @property
    def error(self) -> str:
        """The one line that says what is wrong."""
        lines = [row for row in self.err.splitlines() if row.startswith("selfimprove: error: ")]
        assert len(lines) == 1, self.err
        return lines[0]


Start = Callable[..., Ran]


@pytest.fixture
def start(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Start:
    """`selfimprove run` for one round; the user's own things must be the same afterwards."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))  # a measuring slot of the test's own
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setattr(run_module, "draw_chart", lambda _: "")  # a second of CPU each time

    def run(repository: Repository, *more: object) -> Ran:
        words = ["run", repository.path, "--yes", "--agents", 1, "--max-iterations", 1]
        words += ["--agent", "scripted:targets.agents:lower", "--trees", tmp_path / "trees", *more]
        before = user_state(open_target(repository.path))
        capfd.readouterr()
        code = main([str(word) for word in words])
        said = capfd.readouterr()
        assert before.differences(user_state(open_target(repository.path))) == []
        return Ran(code, said.out, said.err, repository.path / ".selfimprove" / "default")

    return run


@pytest.fixture
def at_level(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Level], None]]:
    """Hold runs to a level, where this machine has it."""

    def hold(level: Level) -> None:
        if missing := hold_to(level, monkeypatch):
            pytest.skip(missing)

    yield hold
    release()
