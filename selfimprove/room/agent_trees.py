"""The trees that agents work in: one of each commit to read, and one for each executor to edit.

What is only read is made once for a commit and never written again, so that the next one links
what is equal. An executor that works in the room alone edits a layer over such a tree, where
overlays work: nothing is copied, and what it changed is what lies in the layer. Others get files
of their own.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from selfimprove.room.files import remove_tree
from selfimprove.room.job import Layered
from selfimprove.room.room import Room
from selfimprove.vcs.agent_tree import Around, add_repository
from selfimprove.vcs.collect import Snapshot, snapshot
from selfimprove.vcs.export import Frozen, Overlay, export
from selfimprove.vcs.quarantine import Quarantine


@dataclass(frozen=True)
class EditingTree:
    """An executor's own tree, as it was before the executor came."""

    tree: Path
    """The files; where there are layers, the ones below, which nobody writes."""
    before: Snapshot
    layers: Layered | None = None

    @property
    def edited(self) -> Path:
        """Where what it wrote lies."""
        return self.layers.upper if self.layers is not None else self.tree


@dataclass(frozen=True)
class Wanted:
    """Which editing tree an agent wants."""

    commit: str
    git: bool
    """With a repository around the files."""
    in_room: bool
    """It edits in the room alone, so layers will do."""


class AgentTrees:
    """Makes and keeps agents' trees below a folder of their own; safe to use from threads."""

    def __init__(
        self,
        quarantine: Quarantine,
        room: Room,
        folder: Path,
        branch: str,
        overlay: Callable[[str], Overlay],
    ) -> None:
        """`branch` is what the improvement branch is called in an executor's repository."""
        self._quarantine = quarantine
        self._room = room
        self._folder = folder
        self._branch = branch
        self._overlay = overlay
        self._lock = threading.Lock()
        self._last: Frozen | None = None
        """The reading tree used last: the next one links what is equal."""
        self._repositories: dict[Path, Snapshot] = {}
        """Layers of a repository alone (or nothing), and how the files below each looked."""
        remove_tree(folder)
        folder.mkdir(parents=True)

    def reading(self, commit: str) -> Path:
        """A tree of a commit for agents that only read; made once, hidden paths left out."""
        place = self._folder / f"reading-{self._quarantine.tree_oid(commit)}"
        with self._lock:
            if not place.exists():
                making = self._making()
                export(self._quarantine, commit, making, self._overlay(commit), self._last)
                making.rename(place)
            self._last = Frozen(commit, place)
        return place

    @contextmanager
    def editing(self, wanted: Wanted) -> Iterator[EditingTree]:
        """A tree of its own for one executor, thrown away afterwards."""
        folder = Path(tempfile.mkdtemp(prefix="editing-", dir=self._folder))
        try:
            if wanted.in_room and self._room.probe.overlay:
                yield self._layered(wanted, folder)
            else:
                tree = folder / "tree"
                export(self._quarantine, wanted.commit, tree, self._overlay(wanted.commit))
                self._add_repository(wanted, Around(tree, tree))
                yield EditingTree(tree, snapshot(tree))
        finally:
            remove_tree(folder)

    def tidy(self, keep: Sequence[str]) -> None:
        """Throw away the trees of everything but these commits."""
        kept = {f"reading-{self._quarantine.tree_oid(commit)}" for commit in keep}
        kept |= {f"{kind}-{commit}" for commit in keep for kind in ("repository", "plain")}
        if self._last is not None:
            kept.add(self._last.tree.name)  # until there is another one to link from
        for tree in self._folder.iterdir():
            if tree.name not in kept:
                self._repositories.pop(tree, None)
                remove_tree(tree)

    def _layered(self, wanted: Wanted, folder: Path) -> EditingTree:
        below, before = self._below(wanted)
        layers = Layered(below, folder / "up", folder / "work")
        layers.upper.mkdir()
        layers.work.mkdir()
        return EditingTree(below[0], before, layers)

    def _below(self, wanted: Wanted) -> tuple[tuple[Path, ...], Snapshot]:
        """What executors' layers lie over, made once for a commit: its files, and a repository."""
        files = self.reading(wanted.commit)
        place = self._folder / f"{'repository' if wanted.git else 'plain'}-{wanted.commit}"
        with self._lock:
            if place not in self._repositories:
                self._room.make_mount_points(files, self._room.places_for("agent"))
                making = self._making()
                self._add_repository(wanted, Around(making, files))
                making.rename(place)
                self._repositories[place] = snapshot(files)
            return (files, place), self._repositories[place]

    def _add_repository(self, wanted: Wanted, around: Around) -> None:
        if wanted.git:
            overlay = self._overlay(wanted.commit)
            add_repository(self._quarantine, wanted.commit, self._branch, around, overlay)

    def _making(self) -> Path:
        return Path(tempfile.mkdtemp(prefix="making-", dir=self._folder))
