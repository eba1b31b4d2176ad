"""Finds what an agent changed in its tree, and makes a commit of it."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from selfimprove.vcs.changes import Change, Collected, Odd
from selfimprove.vcs.fill import lfs_paths
from selfimprove.vcs.git import failed
from selfimprove.vcs.importing import Import, NewCommit, importing
from selfimprove.vcs.names import is_dot_git
from selfimprove.vcs.overlayfs import is_opaque, is_whiteout
from selfimprove.vcs.patterns import ancestors
from selfimprove.vcs.quarantine import Quarantine, Seen
from selfimprove.vcs.snapshots import blob_id

MAX_FILE = 256 << 20
"""Larger files are not stored; nothing that improves source code needs one."""

MAX_TOTAL = 1 << 30
"""Bytes stored of one candidate: what a sparse file does not take here, its copies would."""

LONGEST = 1024
"""Bytes of a path below the tree: a longer one cannot be written again wherever a tree may be."""

# File times lag up to 10 ms behind the clock.
_TICK_NS = 20_000_000

_CACHES = frozenset(
    (
        *("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox"),
        *(".nox", ".ipynb_checkpoints", ".cache", ".DS_Store", "Thumbs.db"),
    )
)
_CACHE_ENDINGS = (".pyc", ".pyo", ".swp", "~")


class Stat(NamedTuple):
    """What tells whether a file was written; ctime cannot be set back."""

    size: int
    mtime_ns: int
    ctime_ns: int
    ino: int
    mode: int


@dataclass(frozen=True)
class Snapshot:
    """A tree as it was handed to an agent."""

    files: dict[str, Stat]


def snapshot(tree: Path) -> Snapshot:
    """Note every file of a fresh tree, before the agent starts."""
    files, _ = _walk(tree)
    newest = max((seen.ctime_ns for seen in files.values()), default=0)
    # A write within the same tick of the file system's clock would leave the same times.
    if newest > time.time_ns() - _TICK_NS:
        time.sleep(_TICK_NS / 1e9)
    return Snapshot(files)


@dataclass(frozen=True)
class Edited:
    """A tree that an agent was handed and is done with."""

    start: str
    """The commit it was."""
    tree: Path
    before: Snapshot
    layer: bool = False
    """`tree` holds what was written alone: the upper layer of an overlay over what `before` saw."""


def collect(q: Quarantine, edited: Edited, about: NewCommit) -> Collected:
    """Make a commit of the edits, over the files of the commit they started from.

    Paths that the tree never held (hidden ones) stay as they were there.
    """
    start, before = edited.start, edited.before
    base = q.entries(start)
    now, odd = _walk(edited.tree, before if edited.layer else None)
    touched = [path for path, seen in now.items() if before.files.get(path) != seen]
    gone = [path for path in before.files if path not in now]
    touched, gone, inside = _outside_submodules(base, touched, gone, before)
    odd += inside
    new = [path for path in touched if path not in base and path not in before.files]
    ignored = _ignored(q, start, new)
    left_out = set(ignored)
    deleted = list(_deleted(base, gone))
    with importing(q.git, replace(about, tree=q.tree_oid(start))) as commit:
        for change in deleted:
            if change.path in base:  # else it was laid over, perhaps in place of a folder
                commit.remove(change.path)
        stored: list[_Stored] = []
        room = MAX_TOTAL
        for path in touched:
            if path not in left_out:
                try:
                    if now[path].size > room:
                        raise OSError(0, f"the changed files have over {MAX_TOTAL >> 20} MiB")
                    stored.append(_store(commit, edited.tree, path, now[path], len(start)))
                    room -= now[path].size
                except OSError as error:
                    odd.append(Odd(path, f"{path!r} cannot be stored: {error.strerror}"))
        made = commit.finish()
    changes = [*deleted, *_differing(base, before, stored)]
    changes.sort(key=lambda change: change.path)
    q.remember_edited(made, start, changes)
    for path in lfs_paths(q, start, [change.path for change in changes if change.oid]):
        odd.append(Odd(path, f"{path!r} is kept by Git LFS, which candidates cannot change"))
    return Collected(made, tuple(changes), tuple(sorted(ignored)), tuple(sorted(odd, key=_where)))


def _where(it: Odd) -> str:
    return it.path


# --- looking ---


@dataclass
class _Found:
    """What lies in a tree, or in a layer over one."""

    files: dict[str, Stat] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    hidden: set[str] = field(default_factory=set)
    """Where nothing of the layer below shows."""
    odd: list[Odd] = field(default_factory=list)

    def over(self, below: dict[str, Stat]) -> dict[str, Stat]:
        """The files of both, less what is hidden: looks once at each, a layer may be large."""
        hidden = self.hidden | self.files.keys()  # a folder may have given way to a file
        here = hidden | self.folders
        shows = {
            path: seen
            for path, seen in below.items()
            if path not in here and hidden.isdisjoint(ancestors(path))
        }
        return shows | self.files


def _walk(tree: Path, below: Snapshot | None = None) -> tuple[dict[str, Stat], list[Odd]]:
    """Every regular file and symlink below a tree but its top `.git`; follows no link.

    Where the tree is a layer over what `below` saw, that too, less what the layer hides of it.
    """
    found = _Found()
    folders = [""]
    while folders:
        prefix = folders.pop()
        for entry in _listed(tree / prefix, prefix, found.odd):
            path = prefix + entry.name
            if len(os.fsencode(path)) > LONGEST:
                found.odd.append(Odd(path, f"{path[:80]!r}... is too long a name"))
                continue
            try:
                if _look(entry, path, found, below is not None):
                    folders.append(path + "/")
            except OSError as error:
                found.odd.append(Odd(path, f"{path!r} cannot be looked at: {error.strerror}"))
    return found.over(below.files) if below else found.files, found.odd


def _look(entry: os.DirEntry[str], path: str, found: _Found, layer: bool) -> bool:
    """Take one entry up; gives whether it is a folder to go into."""
    if is_dot_git(entry.name):
        if path != ".git":
            found.odd.append(Odd(path, f"{path!r}: a repository inside the tree"))
    elif entry.is_dir(follow_symlinks=False):
        found.folders.add(path)
        if layer and is_opaque(entry.path):
            found.hidden.add(path)
        return True
    elif layer and is_whiteout(entry.stat(follow_symlinks=False)):
        found.hidden.add(path)
    elif entry.is_file(follow_symlinks=False) or entry.is_symlink():
        seen = entry.stat(follow_symlinks=False)
        found.files[path] = Stat(
            seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino, seen.st_mode
        )
    else:
        found.odd.append(Odd(path, f"{path!r}: neither a file, a folder nor a symlink"))
    return False


def _listed(folder: Path, prefix: str, odd: list[Odd]) -> list[os.DirEntry[str]]:
    for attempt in range(2):
        try:
            with os.scandir(folder) as found:
                return list(found)
        except PermissionError:
            # The tree is ours and is thrown away: an agent's chmod hides nothing.
            if attempt == 0:
                _allow(folder, 0o700)
        except OSError as error:
            odd.append(Odd(prefix, f"{prefix!r} cannot be listed: {error.strerror}"))
            return []
    odd.append(Odd(prefix, f"{prefix!r} cannot be listed: permission denied"))
    return []


def _allow(path: Path, bits: int) -> None:
    try:
        path.chmod(path.lstat().st_mode | bits)
    except OSError:
        return


# --- leaving out ---


def _outside_submodules(
    base: Seen, touched: list[str], gone: list[str], before: Snapshot
) -> tuple[list[str], list[str], list[Odd]]:
    links = {path for path, entry in base.items() if entry.kind == "commit"}
    if not links:
        return touched, gone, []

    def inside(path: str) -> bool:
        return any(folder in links for folder in (path, *ancestors(path)))

    odd = [
        Odd(path, f"{path!r}: a change inside a submodule")
        for path in (*touched, *gone)
        if inside(path) and (path in before.files or not _is_cache(path))
    ]
    return (
        [path for path in touched if not inside(path)],
        [path for path in gone if not inside(path)],
        odd,
    )


def _is_cache(path: str) -> bool:
    return path.endswith(_CACHE_ENDINGS) or not _CACHES.isdisjoint(path.split("/"))


def _ignored(q: Quarantine, parent: str, new: list[str]) -> list[str]:
    """New files that are caches, or that the parent's own .gitignore files name."""
    caches = [path for path in new if _is_cache(path)]
    asked = [path for path in new if not _is_cache(path)]
    rules = {
        path: entry.oid
        for path, entry in q.entries(parent).items()
        if path.rsplit("/", 1)[-1] == ".gitignore" and entry.mode.startswith("100")
    }
    if not asked or not rules:
        return caches
    contents = q.blobs(list(rules.values()))
    with q.scratch() as folder:
        # git reads ignore rules from a working tree: it gets one that holds nothing else.
        for path, oid in rules.items():
            place = Path(folder, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(contents[oid])
        answer = q.git.attempt(
            *("-c", "core.bare=false", f"--work-tree={folder}"),
            *("check-ignore", "--no-index", "-z", "--stdin"),
            # "./": a name that starts with a colon would be pathspec magic.
            stdin=b"".join(b"./" + os.fsencode(path) + b"\0" for path in asked),
            env={"GIT_LITERAL_PATHSPECS": "0"},
        )
    if answer.code not in (0, 1):
        raise failed(("check-ignore",), q.path, answer)
    return caches + [os.fsdecode(path[2:]) for path in answer.stdout.split(b"\0") if path]


# --- storing ---


class _Stored(NamedTuple):
    path: str
    mode: str
    oid: str
    link: str


def _store(commit: Import, tree: Path, path: str, seen: Stat, id_length: int) -> _Stored:
    """Put one file into the commit as it is: no name or link of the tree reaches git."""
    if stat.S_ISLNK(seen.mode):
        link = os.readlink(tree / path)  # noqa: PTH115  (a Path would tidy the text up)
        content, mode = os.fsencode(link), "120000"
    else:
        link = ""
        content = _read(tree / path, seen)
        mode = "100755" if seen.mode & 0o100 else "100644"
    commit.put(path, content, mode)
    return _Stored(path, mode, blob_id(content, id_length), link)


def _read(source: Path, seen: Stat) -> bytes:
    if seen.size > MAX_FILE:
        raise OSError(0, f"larger than {MAX_FILE >> 20} MiB")
    if not seen.mode & 0o400:
        _allow(source, 0o400)
    # Never through a symlink, and never waiting for a pipe's other end.
    descriptor = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as read:
        return read.read(MAX_FILE)


def _differing(base: Seen, before: Snapshot, stored: Iterable[_Stored]) -> Iterator[Change]:
    for path, mode, oid, link in stored:
        old = base.get(path)
        if old is None:
            # Laid over the parent and not part of it (an uncommitted benchmark): edited, not new.
            known = path in before.files
            yield Change(path, "modified" if known else "added", mode, "", oid, link)
        elif (old.mode, old.oid) != (mode, oid):
            yield Change(path, "modified", mode, old.mode, oid, link)


def _deleted(base: Seen, gone: Iterable[str]) -> Iterator[Change]:
    for path in gone:
        old = base.get(path)
        if old is not None or not _is_cache(path):
            yield Change(path, "deleted", "", old.mode if old else "", "")
