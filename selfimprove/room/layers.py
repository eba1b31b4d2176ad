"""The layers a candidate's tree is made of, each made once and then only read.

From below: what `deps_command` made (once for each set of lock files), the commit's files with
sealed paths laid over them (where overlays work: the base's, then those that differ), what
`prepare_command` made of those (once for each commit). A run gets one more on top, which is thrown
away. Where overlays work the layers stay apart and nothing is copied; elsewhere each is copied
into the next. Every layer is named by what it was made from and appears by one rename, so a kill
at any point leaves nothing half made.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from selfimprove.contracts.settings import Settings
from selfimprove.errors import ConfigError, ToolError
from selfimprove.process import Outcome
from selfimprove.room.environ import Profile
from selfimprove.room.files import copy_tree, follows_no_link, remove_tree, strip_whiteouts, without
from selfimprove.room.job import Job, Layered
from selfimprove.room.prepared import DepsLayer, Known, Prepared
from selfimprove.room.room import Room
from selfimprove.room.written import Sealed
from selfimprove.vcs.agent_tree import add_single_commit
from selfimprove.vcs.export import Frozen, Overlay, composed, edits, export, export_files
from selfimprove.vcs.presets import preset
from selfimprove.vcs.quarantine import Entry, Quarantine


class Layers:
    """Makes and keeps the layers of a run below `cache`; safe to use from several threads."""

    def __init__(
        self,
        quarantine: Quarantine,
        room: Room,
        settings: Settings,
        overlay: Overlay | None,
        cache: Path,
    ) -> None:
        self.quarantine = quarantine
        self.room = room
        self.settings = settings
        self.overlay = overlay
        self.cache = cache / "layers"
        self._known = Known()

    def prepared(self, commit: str, anew: str = "") -> Prepared:
        """The frozen build of a commit; `anew` names a second one, made from nothing.

        `prepare_cache` paths are copied from the build of the commit it was made from, which is the
        incumbent's: never from a rival's.
        """
        files, deps = self._exported(commit), self.deps(commit)
        below = files if deps is None else (deps.tree, *files)
        if deps is None and not self.settings.prepare_command:
            return Prepared(commit, below, ok=True)
        key = self._build_key(commit, anew)
        with self._one_at_a_time(key):
            failed = self._known.failed.get(key)
            if failed is not None:
                return Prepared(commit, below, ok=False, outcome=failed)
            place = self._folder("prepared") / key
            outcome = None
            if not place.exists():
                before = None if anew else self._build_before(commit)
                outcome = self._build(below, place, before)
            if outcome is not None and outcome.exit_code != 0:
                self._known.failed[key] = outcome
                return Prepared(commit, below, ok=False, outcome=outcome)
            self._remember(commit, place)
            written = self._written_by_build(commit, below, place)
            stack = self._stack(below, place)
            return Prepared(commit, stack, ok=not written, outcome=outcome, written=written)

    @contextmanager
    def throwaway(self, prepared: Prepared) -> Iterator[Path | Layered]:
        """A tree for one run; whatever is written into it is gone afterwards."""
        with self.aside() as folder:
            yield self._writable(prepared.stack, folder)

    @contextmanager
    def copied(self, prepared: Prepared) -> Iterator[Path]:
        """A tree for one run as a private copy, whatever layers could do: its times are its own."""
        with self.aside() as folder:
            for layer in prepared.stack:
                copy_tree(layer, folder / "tree")
            yield folder / "tree"

    def written(self, tree: Path | Layered, prepared: Prepared) -> frozenset[str]:
        """The sealed files that a run in a throw-away tree wrote over."""
        return self._sealed.written(tree, prepared.stack)

    @cached_property
    def _sealed(self) -> Sealed:
        overlay = self.overlay
        if overlay is None:
            return Sealed(frozenset())
        laid = composed(self.quarantine, overlay.base_commit, overlay)
        sealed = {path for path in laid if path in overlay.paths}
        return Sealed(frozenset(sealed | overlay.extra_files.keys()))

    def _written_by_build(
        self, commit: str, below: tuple[Path, ...], place: Path
    ) -> frozenset[str]:
        """The sealed files that a build wrote over, less those that the base's writes over."""
        if place not in self._known.written:
            tree = (
                Layered(below, place / "up", place) if self.room.probe.overlay else place / "tree"
            )
            self._known.written[place] = self._sealed.written(tree, below)
        written = self._known.written[place]
        base = self.overlay.base_commit if self.overlay is not None else commit
        if not written or self._export_key(commit) == self._export_key(base):
            return frozenset()
        self.prepared(base)
        ground = self._folder("prepared") / self._build_key(base)
        return written - self._known.written.get(ground, frozenset())

    @contextmanager
    def aside(self) -> Iterator[Path]:
        """A folder that is gone afterwards; what a kill leaves of it, a later start clears."""
        folder = Path(tempfile.mkdtemp(dir=self._folder("runs")))
        try:
            yield folder
        finally:
            remove_tree(folder)

    def deps(self, commit: str | None = None) -> DepsLayer | None:
        """What `deps_command` makes of the base files, with the lock files of `commit`."""
        command = self.settings.deps_command
        if not command:
            return None
        base = self.overlay.base_commit if self.overlay is not None else commit
        if base is None:
            raise ToolError("deps_command needs a base commit", "give the layers an overlay")
        locks = self._locks(commit or base)
        key = self._deps_key(locks)
        place = self._folder("deps") / key
        with self._one_at_a_time(key):
            if not place.exists():
                with self._making(place) as making:
                    self._install(base, locks, making)
                    making.rename(place)
        return DepsLayer(place / "up", key)

    def drop(self, *commits: str) -> None:
        """Remove what was made for these commits; it is made again when it is asked for."""
        shared = {
            place
            for commit, places in self._known.made.items()
            if commit not in commits
            for place in places
        }
        for commit in commits:
            self._known.keys.pop(commit, None)
            self._known.changed.pop(commit, None)
            for place in self._known.made.pop(commit, set()) - shared:
                remove_tree(place)

    def keep(self, commits: Iterable[str]) -> None:
        """Remove what was made for all other commits."""
        # a merge that is published has the very files of the one that was measured
        ground = [self.overlay.base_commit] if self.overlay is not None else []
        kept = {self._export_key(commit) for commit in (*commits, *ground)}
        made = list(self._known.made)
        self.drop(*(commit for commit in made if self._export_key(commit) not in kept))

    def clean(self) -> None:
        """Remove what a killed run left half made; nothing may be running."""
        self.room.clean()
        remove_tree(self.cache / "runs")
        for leftover in self.cache.glob("*/*.making-*"):
            remove_tree(leftover)

    # making

    def _exported(self, commit: str) -> tuple[Path, ...]:
        """The commit's files, sealed paths laid over them, with places for what is provided."""
        changed = self._over_base(commit)
        key = self._export_key(commit)
        place = self._folder("exports") / key
        with self._one_at_a_time(key):
            if not place.exists():
                with self._making(place) as making:
                    self._export(commit, making / "tree", changed)
                    making.rename(place)
        self._remember(commit, place)
        return (*self._ground(changed), place / "tree")

    def _export(self, commit: str, tree: Path, changed: Mapping[str, Entry] | None) -> None:
        if changed is None:
            export(self.quarantine, commit, tree, self.overlay, self._frozen())
            self.room.make_mount_points(tree, self.room.places_for("benchmark"))
        else:
            export_files(self.quarantine, commit, tree, changed)
        if self.settings.export_git:
            add_single_commit(self.quarantine, commit, tree)

    def _frozen(self) -> Frozen | None:
        """The base's export, where it is made: what is equal may be linked from it."""
        if self.overlay is None:
            return None
        base = self.overlay.base_commit
        place = self._folder("exports") / self._export_key(base)
        return Frozen(base, place / "tree") if place.exists() else None

    def _ground(self, changed: Mapping[str, Entry] | None) -> tuple[Path, ...]:
        """What a layer of changed files lies over."""
        if changed is None or self.overlay is None:
            return ()
        return self._exported(self.overlay.base_commit)

    def _over_base(self, commit: str) -> Mapping[str, Entry] | None:
        """The files of a commit that differ from the base's, where a layer of them will do."""
        if self.overlay is None or not self.room.probe.overlay or self.settings.export_git:
            return None
        if self._export_key(commit) == self._export_key(self.overlay.base_commit):
            return None
        if commit not in self._known.changed:  # every measurement asks, and all paths are looked at
            firm = self.room.places_for("benchmark")
            self._known.changed[commit] = edits(self.quarantine, commit, self.overlay, firm)
        return self._known.changed[commit]

    def _export_key(self, commit: str) -> str:
        """What an export is made of, as a name: commits of the same files share one."""
        if commit in self._known.keys:
            return self._known.keys[commit]
        entries = composed(self.quarantine, commit, self.overlay)
        extra = self.overlay.extra_files if self.overlay is not None else {}
        rows = sorted((path, entry.mode, entry.oid) for path, entry in entries.items())
        laid = sorted((path, hashlib.sha256(data).hexdigest()) for path, data in extra.items())
        git = ["git"] if self.settings.export_git else []
        key = self._known.keys[commit] = _digest([rows, laid, self._places(), *git])
        return key

    def _build_key(self, commit: str, anew: str = "") -> str:
        """What a build is made of, as a name."""
        settings = self.settings
        deps = self._deps_key(self._locks(commit)) if settings.deps_command else ""
        base = self.overlay.base_commit if self.overlay is not None else commit
        cached = [] if anew or commit == base else settings.prepare_cache
        made_of = [self._export_key(commit), deps, settings.prepare_command, cached]
        return _digest([*made_of, anew] if anew and settings.prepare_command else made_of)

    def _deps_key(self, locks: Mapping[str, str]) -> str:
        return _digest([self.settings.deps_command, sorted(locks.items()), self._places()])

    def _build_before(self, commit: str) -> Path | None:
        """The top layer of the incumbent's build, where it is made and something is kept of it."""
        if not self.settings.prepare_cache:
            return None
        incumbent = self.quarantine.resolve(f"{commit}^1")
        if incumbent is None:
            return None
        place = self._folder("prepared") / self._build_key(incumbent)
        return self._stack((), place)[-1] if place.exists() else None

    def _build(self, below: tuple[Path, ...], place: Path, before: Path | None) -> Outcome | None:
        """Run `prepare_command` on what is below; its writes become the layer at `place`."""
        with self._making(place) as making:
            tree = self._writable(below, making)
            if before is not None:
                self._reuse(before, tree.upper if isinstance(tree, Layered) else tree)
            outcome = None
            if self.settings.prepare_command:
                outcome = self._run(self.settings.prepare_command, tree, "prepare", making.name)
            if outcome is None or outcome.exit_code == 0:
                remove_tree(making / "work")
                making.rename(place)
            return outcome

    def _reuse(self, before: Path, top: Path) -> None:
        """Take over the incumbent's build caches; nothing that a link on the way leads to."""
        for name in self.settings.prepare_cache:
            source = before / name
            if source.is_dir() and follows_no_link(before, name) and follows_no_link(top, name):
                copy_tree(source, top / name)

    def _install(self, base: str, locks: dict[str, str], making: Path) -> None:
        """Run `deps_command` on the base files and keep what it added."""
        start = making / "base"
        export(self.quarantine, base, start, self.overlay)
        self._lay_locks(base, locks, start)
        self.room.make_mount_points(start, self.room.places_for("benchmark"))
        tree = self._writable((start,), making)
        outcome = self._run(self.settings.deps_command, tree, "deps", making.name)
        if outcome.exit_code != 0:
            said = (outcome.stderr or outcome.stdout).decode(errors="replace").strip()
            last = said.splitlines()[-1] if said else outcome.error or "it took too long"
            raise ConfigError(
                f"deps_command {self.settings.deps_command!r} failed: {last}",
                f"run it in a fresh clone; its output is in {self._log(making.name)}",
            )
        if isinstance(tree, Layered):
            strip_whiteouts(tree.upper)
        else:
            without(tree, start)
            tree.rename(making / "up")
        for name in ("base", "work"):
            remove_tree(making / name)

    def _lay_locks(self, base: str, locks: dict[str, str], start: Path) -> None:
        """Lock files that the scope opened come from the candidate, the rest from the base."""
        same = self._locks(base)
        for path, oid in locks.items():
            if same.get(path) != oid:
                (start / path).parent.mkdir(parents=True, exist_ok=True)
                (start / path).unlink(missing_ok=True)
                (start / path).write_bytes(self.quarantine.blob(oid))

    def _locks(self, commit: str) -> dict[str, str]:
        entries = composed(self.quarantine, commit, self.overlay)
        return {
            path: entry.oid
            for path, entry in entries.items()
            if entry.kind == "blob" and entry.mode != "120000" and preset(path) == "manifest"
        }

    def _run(self, command: str, tree: Path | Layered, profile: Profile, name: str) -> Outcome:
        limit = self.settings.prepare_timeout
        return self.room.run(Job(command, tree, profile, limit, log=self._log(name)))

    def _log(self, name: str) -> Path:
        return self.cache / "logs" / f"{name.partition('.')[0]}.log"

    # layers

    def _writable(self, stack: tuple[Path, ...], folder: Path) -> Path | Layered:
        """A tree over `stack` whose writes go into `folder`."""
        if self.room.probe.overlay:
            layered = Layered(stack, folder / "up", folder / "work")
            layered.upper.mkdir()
            layered.work.mkdir()
            return layered
        for layer in stack:
            copy_tree(layer, folder / "tree")
        return folder / "tree"

    def _stack(self, below: tuple[Path, ...], place: Path) -> tuple[Path, ...]:
        return (*below, place / "up") if self.room.probe.overlay else (place / "tree",)

    def _places(self) -> list[str]:
        kind = "mounts" if self.room.probe.bwrap is not None else "links"
        return [kind, *sorted(map(str, self.room.places_for("benchmark")))]

    def _folder(self, name: str) -> Path:
        folder = self.cache / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _remember(self, commit: str, place: Path) -> None:
        with self._known.lock:
            self._known.made.setdefault(commit, set()).add(place)

    def _one_at_a_time(self, key: str) -> threading.Lock:
        with self._known.lock:
            return self._known.locks.setdefault(key, threading.Lock())

    @contextmanager
    def _making(self, place: Path) -> Iterator[Path]:
        """A folder for what the body renames to `place` when it is whole; else it is removed."""
        making = Path(tempfile.mkdtemp(prefix=f"{place.name}.making-", dir=place.parent))
        try:
            yield making
        finally:
            remove_tree(making)


def _digest(parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
