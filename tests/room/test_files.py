"""Folders are taken away whatever was left in them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from selfimprove.outputs import BEYOND, disk_usage
from selfimprove.room.files import remove_tree


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """One that is gone afterwards, whatever a test failed to remove."""
    made = tmp_path / "tree"
    made.mkdir()
    yield made
    subprocess.run(["rm", "-rf", "--", str(made)], check=True)


def deepen(folder: Path, name: str, times: int) -> int:
    """Folders within folders, deeper than any path can say; gives the deepest, open."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(times):
        os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    return here


@pytest.mark.parametrize(("name", "times"), [("d", 1500), ("d" * 250, 40)])
def test_deep_folders_are_removed(folder: Path, name: str, times: int) -> None:
    deepest = deepen(folder, name, times)
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=deepest))
    os.symlink("/etc", "link", dir_fd=deepest)
    os.chmod("file", 0, dir_fd=deepest)
    os.close(deepest)
    remove_tree(folder)
    assert not folder.exists()
    assert Path("/etc").is_dir()


def test_what_lies_too_deep_to_be_counted_is_more_than_any_limit(folder: Path) -> None:
    os.close(deepen(folder, "d" * 250, 20))
    assert disk_usage(folder) == BEYOND


def test_unreadable_folders_are_removed_and_links_left_alone(folder: Path, tmp_path: Path) -> None:
    beside = tmp_path / "beside"
    beside.mkdir(mode=0o755)
    (beside / "file").touch()
    for name in ("a/b/c", "a/d", "e"):
        (folder / name).mkdir(parents=True)
        (folder / name / "file").touch()
    (folder / "a/b/link").symlink_to(beside)
    for name in ("a/b/c", "a/b", "a/d", "a", "e", ""):
        (folder / name).chmod(0)
    remove_tree(folder)
    assert not folder.exists()
    assert (beside / "file").exists()
    assert beside.stat().st_mode & 0o777 == 0o755


def test_a_link_is_no_folder_to_remove(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder)
    with pytest.raises(OSError, match="symbolic link"):
        remove_tree(tmp_path / "link")
    assert folder.is_dir()
