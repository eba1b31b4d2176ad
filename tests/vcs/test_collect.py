"""What an agent may leave behind to keep us busy, or to make a commit that nobody can use."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from selfimprove.room.files import remove_tree
from selfimprove.vcs.quarantine import Quarantine
from selfimprove.vcs.target import Target
from selfimprove.vcs.trees import Edited, Snapshot, export, snapshot

from .gitrepo import collected, write


def exported(quarantine: Quarantine, target: Target, tree: Path) -> Snapshot:
    export(quarantine, target.head, tree)
    return snapshot(tree)


def test_paths_too_long_to_be_written_again_are_odd(
    quarantine: Quarantine, target: Target, tmp_path: Path
) -> None:
    tree = tmp_path / "tree"
    before = exported(quarantine, target, tree)
    here = os.open(tree, os.O_RDONLY)
    for _ in range(16):  # a path to what is below is more than the kernel takes
        os.mkdir("d" * 250, dir_fd=here)
        below = os.open("d" * 250, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
        os.close(os.open("f" * 250, os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)
    write(tree, {"/".join(["e" * 200] * 5) + "/" + "f" * 19: "1024 bytes"})
    found = collected(quarantine, Edited(target.head, tree, before))
    assert {it.reason[-18:] for it in found.odd} == {"is too long a name"}
    assert len(found.changes) == 4
    assert max(len(change.path) for change in found.changes) == 1024
    export(quarantine, found.commit, tmp_path / "out")
    remove_tree(tree)


class Watched(str):
    """A path that counts how often something was sought in it."""

    looks = 0

    def startswith(self, *args: Any) -> bool:
        Watched.looks += 1
        return super().startswith(*args)

    def rfind(self, *args: Any) -> int:
        Watched.looks += 1
        return super().rfind(*args)


def test_new_files_in_a_layer_are_not_each_compared_with_all(
    quarantine: Quarantine, target: Target, tmp_path: Path, monkeypatch
) -> None:
    seen = exported(quarantine, target, tmp_path / "below").files
    before = Snapshot({Watched(path): stat for path, stat in seen.items()})
    write(tmp_path / "layer", {f"src/many/{number}": "" for number in range(5_000)})
    write(tmp_path / "layer", {"bench": "in place of a folder"})
    monkeypatch.setattr(Watched, "looks", 0)
    found = collected(quarantine, Edited(target.head, tmp_path / "layer", before, layer=True))
    assert len(found.changes) == 5_002
    assert [change.path for change in found.changes[:2]] == ["bench", "bench/run.sh"]
    assert 0 < Watched.looks < 10 * len(seen)


def _noting(paths: list[Any], function: Any) -> Any:
    def noted(path: Any, *args: Any, **named: Any) -> Any:
        paths.append(path)
        return function(path, *args, **named)

    return noted


def test_files_beyond_a_total_are_odd_and_not_read(
    quarantine: Quarantine, target: Target, tmp_path: Path, monkeypatch
) -> None:
    tree = tmp_path / "tree"
    before = exported(quarantine, target, tree)
    monkeypatch.setattr("selfimprove.vcs.collect.MAX_TOTAL", 3 << 20)
    for number in range(6):
        (tree / f"sparse{number}").touch()
        os.truncate(tree / f"sparse{number}", 1 << 20)
    read: list[Any] = []
    with monkeypatch.context() as spied:
        spied.setattr(os, "open", _noting(read, os.open))
        found = collected(quarantine, Edited(target.head, tree, before))
    assert len(found.changes) == 3
    assert [it.reason.partition(": ")[2] for it in found.odd] == [
        "the changed files have over 3 MiB"
    ] * 3
    assert {it.path for it in found.odd}.isdisjoint(Path(path).name for path in read)
