from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from selfimprove.cli import main
from selfimprove.store.layout import Layout
from selfimprove.testing.rehearsal import BENCHMARK, NUMBERS, SCORE
from selfimprove.testing.repository import Repository, build_repository


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@dataclass
class Answered:
    code: int
    told: str


class Init:
    """Runs `init` on a repository: as a script would, or as a person who types."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, files: dict[str, str]) -> None:
        self.repository: Repository = build_repository(folder / "target", files)
        self.trees = folder / "trees"
        self.patch = patch

    @property
    def layout(self) -> Layout:
        return Layout(self.repository.path / ".selfimprove/default")

    def __call__(self, *words: str, typed: str | None = None) -> Answered:
        said = io.StringIO() if typed is None else Terminal()
        with self.patch.context() as patch:
            patch.setattr("sys.stdin", io.StringIO("") if typed is None else Terminal(typed))
            patch.setattr("sys.stderr", said)
            patch.setattr("sys.stdout", said)
            patch.setenv("SELFIMPROVE_SANDBOX__MODE", "off")
            where = [str(self.repository.path), "--trees", str(self.trees)]
            code = main(["init", *where, *words])
        return Answered(code, said.getvalue())


@pytest.fixture
def numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: Any) -> Init:
    """A repository with a benchmark."""
    return Init(tmp_path, monkeypatch, {**NUMBERS, "bench.sh": BENCHMARK + SCORE})


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: Any) -> Init:
    """A repository without one."""
    return Init(tmp_path, monkeypatch, dict(NUMBERS))
