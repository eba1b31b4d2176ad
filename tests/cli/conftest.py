from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from selfimprove.cli import main
from selfimprove.testing.records import Recorder, finished


@dataclass
class Answer:
    code: int
    out: str
    err: str


Invoke = Callable[..., Answer]


@pytest.fixture
def invoke(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "user-state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user-cache"))

    def call(*words: object) -> Answer:
        capfd.readouterr()
        code = main([str(word) for word in words])
        said = capfd.readouterr()
        return Answer(code, said.out, said.err)

    return call


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A git repository without a run."""
    place = tmp_path / "my repo"
    subprocess.run(["git", "init", "-q", str(place)], check=True)
    return place


@pytest.fixture
def ran(repo: Path) -> Recorder:
    """The same, with the record of a run of two rounds."""
    return finished(repo / ".selfimprove/default")
