"""Which sealed files a job wrote over: they are laid once, and the job's tree is its own to write.

Only what differs counts: a file that was touched, or whose mode was changed, says what it said.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from selfimprove.room.job import Layered
from selfimprove.vcs.overlayfs import is_opaque
from selfimprove.vcs.patterns import ancestors

_CHUNK = 1 << 20


@dataclass(frozen=True)
class Sealed:
    """The sealed files of a tree, as paths below it."""

    paths: frozenset[str]

    @cached_property
    def folders(self) -> frozenset[str]:
        """The folders above them."""
        return frozenset(folder for path in self.paths for folder in ancestors(path))

    def written(self, tree: Path | Layered, below: Collection[Path]) -> frozenset[str]:
        """Those that are not in `tree` as they are in `below`, the layers it was made of."""
        if isinstance(tree, Layered):
            return frozenset(self._in_layer(tree.upper, tree.stack))
        found = (
            path for path in self.paths if not _same(_stat(tree, path), tree / path, below, path)
        )
        return frozenset(found)

    def _in_layer(self, upper: Path, stack: Collection[Path]) -> Iterator[str]:
        """Look where a layer of writes lies above something sealed, and nowhere else."""
        folders = [""]
        while folders:
            prefix = folders.pop()
            try:
                with os.scandir(upper / prefix) as found:
                    entries = [(entry, entry.stat(follow_symlinks=False)) for entry in found]
            except OSError:  # made so that nobody can look: none of it is as it was
                yield from (each for each in self.paths if each.startswith(prefix))
                continue
            for entry, seen in entries:
                path = prefix + entry.name
                if path in self.folders and stat.S_ISDIR(seen.st_mode):
                    if is_opaque(entry.path):
                        yield from self._gone(upper, path, stack)
                    folders.append(f"{path}/")
                elif path in self.folders:
                    yield from (each for each in self.paths if each.startswith(f"{path}/"))
                elif path in self.paths and not _same(seen, Path(entry.path), stack, path):
                    yield path

    def _gone(self, upper: Path, folder: str, stack: Collection[Path]) -> Iterator[str]:
        """What a folder that replaces another does not hold any more."""
        for path in self.paths:
            if path.startswith(f"{folder}/") and not _same(
                _stat(upper, path), upper / path, stack, path
            ):
                yield path


def _stat(top: Path, path: str) -> os.stat_result | None:
    """What is there, following no link on the way."""
    place = top
    for part in path.split("/"):
        place = place / part
        try:
            seen = place.lstat()
        except OSError:
            return None
        if not stat.S_ISDIR(seen.st_mode):
            break
    return seen if place == top / path else None


def _same(seen: os.stat_result | None, place: Path, below: Iterable[Path], path: str) -> bool:
    """Whether what is there says what the highest layer that has it says."""
    for layer in reversed(tuple(below)):
        first = _stat(layer, path)
        if first is not None:
            break
    else:
        return True  # it was never laid: a mount point, say
    if seen is None or stat.S_IFMT(seen.st_mode) != stat.S_IFMT(first.st_mode):
        return False
    if stat.S_ISLNK(first.st_mode):
        return place.readlink() == (layer / path).readlink()
    return seen.st_size == first.st_size and _equal(place, layer / path)


def _equal(one: Path, other: Path) -> bool:
    try:
        with one.open("rb") as first, other.open("rb") as second:
            while chunk := first.read(_CHUNK):
                if chunk != second.read(_CHUNK):
                    return False
    except OSError:
        return False
    return True
