"""Notices what changes in the user's repository while a run is at work, and never writes there.

While nothing changes a look costs a few hundred `lstat`; git is asked only where a time or a size
is another. The files of the working tree are looked at only so often that it takes one part in a
hundred of the time.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from selfimprove.vcs.git import Git
from selfimprove.vcs.refs import read_refs
from selfimprove.vcs.target import Target

PUBLISHED = ("refs/heads/improve/", "refs/tags/archive/", "refs/selfimprove/")
"""What runs publish, this one or another topic's."""
_PUBLISHED_FOLDERS = frozenset({"heads/improve", "tags/archive"})
TREE_SHARE = 100
"""Looking at the files may take one part in this many of the time."""
SHOWN = 8
"""Names of one kind that are told."""

Mark = tuple[int, ...]
Marks = dict[str, Mark]


@dataclass(frozen=True)
class Difference:
    """One kind of thing that is not as it was."""

    what: str
    """`HEAD`, `refs`, `index`, `config`, `hooks`, `excludes` or `status`."""
    names: tuple[str, ...] = ()
    """Refs or paths, where there are several of a kind."""

    def __str__(self) -> str:
        shown = [name if name.isprintable() else ascii(name) for name in self.names[:SHOWN]]
        more = [f"{len(self.names) - SHOWN} more"] if len(self.names) > SHOWN else []
        return f"{self.what} ({', '.join(shown + more)})" if shown else self.what


class _Part:
    """One kind of thing: its marks are cheap to take, its contents tell what really changed."""

    def __init__(
        self, what: str, marks: Callable[[], Marks], contents: Callable[[], dict[str, str]]
    ) -> None:
        self.what = what
        self._marks_of, self._contents_of = marks, contents
        self._marks, self._contents = marks(), contents()

    def difference(self) -> Difference | None:
        """What changed since the last look."""
        now = self._marks_of()
        if now == self._marks:
            return None
        before, self._marks, self._contents = self._contents, now, self._contents_of()
        names = {name for name, _ in before.items() ^ self._contents.items()}
        if not names:
            return None
        return Difference(self.what, tuple(sorted(names - {""})))


class Watch:
    """Compares the user's part of a repository with how it was at the last look."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._parts: list[_Part] = []
        self._tree: _Part | None = None
        self._tree_at = 0.0

    def begin(self) -> None:
        """Look for the first time: what was done before is nobody's business."""
        target, git_dir, common = self._target, self._target.git_dir, self._target.common_dir
        config = [common / "config", git_dir / "config.worktree"]
        self._parts = [
            _files("HEAD", lambda: [git_dir / "HEAD"]),
            _Part("refs", lambda: _ref_marks(target), lambda: _refs(target)),
            _Part("index", lambda: _marks([git_dir / "index"]), lambda: _index(target)),
            _files("config", lambda: config),
            _files("hooks", lambda: _below(common / "hooks"), common),
            _files("excludes", lambda: _below(common / "info"), common),
        ]
        began = time.monotonic()
        watched = _watched(target)
        self._tree = _Part("status", lambda: _marks(watched), lambda: _status(target))
        self._looked(began)

    def differences(self) -> list[Difference]:
        """What is not as it was at the last look; from now on it is."""
        found = [part.difference() for part in self._parts]
        began = time.monotonic()
        if self._tree is not None and began >= self._tree_at:
            found.append(self._tree.difference())
            self._looked(began)
        return [each for each in found if each is not None]

    def _looked(self, began: float) -> None:
        now = time.monotonic()
        self._tree_at = now + TREE_SHARE * (now - began)


def _files(what: str, paths: Callable[[], list[Path]], top: Path | None = None) -> _Part:
    """Files that are small enough to be read; named from `top`, or not at all."""

    def contents() -> dict[str, str]:
        named = ((path.relative_to(top).as_posix() if top else "", path) for path in paths())
        return {name: _digest(_read(path), path) for name, path in named if path.is_file()}

    return _Part(what, lambda: _marks(paths()), contents)


def _marks(paths: Iterable[Path | str]) -> Marks:
    return {str(path): _mark(path) for path in paths}


def _mark(path: Path | str) -> Mark:
    try:
        seen = os.lstat(path)
    except OSError:
        return ()
    return (seen.st_mtime_ns, seen.st_size, seen.st_ino, seen.st_mode)


def _below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if not path.is_dir())


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _digest(data: bytes, path: Path | None = None) -> str:
    """What a file holds, and whether it can be executed."""
    mode = oct(path.stat().st_mode & 0o111) if path is not None and path.exists() else ""
    return mode + hashlib.sha256(data).hexdigest()


def _ref_marks(target: Target) -> Marks:
    """Packed refs and every loose one, less what runs publish: those are many, and ours."""
    common = target.common_dir
    found = _marks([common / "packed-refs", common / "reftable" / "tables.list"])
    folders = ["refs"]
    while folders:
        folder = folders.pop()
        try:
            entries = list(os.scandir(common / folder))
        except OSError:
            continue
        for entry in entries:
            name = f"{folder}/{entry.name}"
            if not entry.is_dir(follow_symlinks=False):
                found[name] = _mark(entry.path)
            elif name.removeprefix("refs/") not in _PUBLISHED_FOLDERS:
                folders.append(name)
    return found


def _refs(target: Target) -> dict[str, str]:
    refs = read_refs(target.git)
    return {ref: oid for ref, oid in refs.items() if not ref.startswith(PUBLISHED)}


def _index(target: Target) -> dict[str, str]:
    """What is staged and how it is flagged; that git looked at the files again changes nothing."""
    return {"": _digest(target.git.run("ls-files", "--stage", "-v", "-z"))}


def _watched(target: Target) -> list[str]:
    """Every tracked file and the folders they are in, where others would appear."""
    out = target.git.run("ls-files", "-z")
    files = [os.fsdecode(path) for path in out.split(b"\0") if path]
    folders = {"", *(path.rpartition("/")[0] for path in files)}
    top = os.fspath(target.top)
    return [os.path.join(top, name) for name in (*sorted(folders), *files)]  # noqa: PTH118 - many


def _status(target: Target) -> dict[str, str]:
    """Path -> its state as the user's own `git status` has it, and when it was written."""
    git = Git(target.git_dir, target.top, users_config=True)
    out = git.run(
        *("status", "--porcelain=v1", "-z", "--no-renames"),
        *("--untracked-files=normal", "--ignore-submodules=dirty"),
    )
    return dict(_rows(target, out))


def _rows(target: Target, out: bytes) -> Iterator[tuple[str, str]]:
    for row in out.split(b"\0"):
        if row:
            path = os.fsdecode(row[3:])
            mark = "" if path.endswith("/") else str(_mark(target.top / path)[:2])
            # a staged change is the index's; what counts here is the file
            yield path, f"{chr(row[1])}{mark}"
