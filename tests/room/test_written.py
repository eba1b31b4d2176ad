"""What the comparison of sealed files makes of folders that nobody can look into."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from selfimprove.room.job import Layered
from selfimprove.room.written import Sealed


@pytest.mark.parametrize(
    ("hidden", "written"),
    [("tests", ["tests/a", "tests/b"]), ("", ["bench", "tests/a", "tests/b"])],
)
def test_a_folder_that_cannot_be_looked_at_is_not_what_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hidden: str, written: list[str]
) -> None:
    lower, upper = tmp_path / "lower", tmp_path / "upper"
    for layer in (lower, upper):
        (layer / "tests").mkdir(parents=True)
    for name in ("bench", "tests/a", "tests/b"):
        (lower / name).write_text("1")
    true = os.scandir

    def closed(place: Path) -> Any:  # what chmod does to everybody but root
        if place == upper / hidden:
            raise PermissionError(13, "Permission denied", str(place))
        return true(place)

    monkeypatch.setattr(os, "scandir", closed)
    sealed = Sealed(frozenset({"bench", "tests/a", "tests/b"}))
    tree = Layered((lower,), upper, tmp_path / "work")
    assert sorted(sealed.written(tree, (lower,))) == written
