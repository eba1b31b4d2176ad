from __future__ import annotations

import os
from pathlib import Path

import pytest

from selfimprove.errors import TargetError
from selfimprove.setup.installing import install

FILES = {"measure/data/in.txt": (b"1\n", False), "measure/run.sh": (b"#!/bin/sh\n", True)}


def test_new_files_are_written_once(tmp_path: Path) -> None:
    assert install(tmp_path, FILES) == [tmp_path / path for path in sorted(FILES)]
    assert (tmp_path / "measure/run.sh").read_bytes() == b"#!/bin/sh\n"
    assert os.access(tmp_path / "measure/run.sh", os.X_OK)
    assert not os.access(tmp_path / "measure/data/in.txt", os.X_OK)
    assert install(tmp_path, FILES) == []


def test_what_is_in_the_way_stays_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "measure").mkdir()
    (tmp_path / "measure/run.sh").write_text("mine")
    with pytest.raises(TargetError, match="cannot be put there"):
        install(tmp_path, FILES)
    assert (tmp_path / "measure/run.sh").read_text() == "mine"
    assert not (tmp_path / "measure/data/in.txt").exists()


def test_no_link_is_followed_out_of_the_tree(tmp_path: Path) -> None:
    outside, top = tmp_path / "outside", tmp_path / "top"
    outside.mkdir()
    top.mkdir()
    (top / "measure").symlink_to(outside)
    with pytest.raises(TargetError, match="a link on the way"):
        install(top, FILES)
    assert list(outside.iterdir()) == []
    (top / "measure").unlink()
    (top / "measure").mkdir()
    (top / "measure/run.sh").symlink_to(outside / "made")
    with pytest.raises(TargetError):
        install(top, FILES)
    assert list(outside.iterdir()) == []
