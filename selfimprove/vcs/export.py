"""Writes a commit's files from its objects alone: no checkout, no filters, no git in the tree."""

from __future__ import annotations

import os
from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from selfimprove.errors import TargetError, ToolError
from selfimprove.vcs.names import is_dot_git
from selfimprove.vcs.objects import Objects, begun
from selfimprove.vcs.patterns import ancestors
from selfimprove.vcs.quarantine import Entry, Quarantine, Seen, remember

_CHUNK = 1 << 20


@dataclass(frozen=True)
class Overlay:
    """What is laid over a candidate's files: sealed paths come from the base."""

    base_commit: str
    paths: Container[str] = frozenset()
    """Sealed paths: as in the base, and absent where the base has none."""
    extra_files: Mapping[str, bytes] = field(default_factory=dict)
    """Uncommitted benchmark and goal files, taken from the target at the start."""
    executables: frozenset[str] = frozenset()
    """Those of the extra files that are programs."""
    hidden: Container[str] = frozenset()
    """Paths that are left out: what no agent may see."""
    laid: dict[str, Seen] = field(default_factory=dict, compare=False, repr=False)
    """Tree -> what lies under this overlay: every measurement of a commit asks for the same."""


@dataclass(frozen=True)
class Frozen:
    """An exported tree that nobody writes any more: unchanged files may be linked from it."""

    commit: str
    tree: Path


def export(
    q: Quarantine,
    commit: str,
    dest: Path,
    overlay: Overlay | None = None,
    like: Frozen | None = None,
) -> None:
    """Write the commit's files into `dest` (made here; empty if it exists), without a `.git`.

    With `like`, exported with the same overlay, files that are equal become hard links: only for a
    tree that is itself never written (read through an overlay mount, or copied before use).
    """
    from selfimprove.vcs.fill import fill_lfs, fill_submodules

    entries = dict(composed(q, commit, overlay))
    make_folders(dest, entries)
    linked = _link_equal(composed(q, like.commit, overlay), entries, like, dest) if like else set()
    to_write = {path: entry for path, entry in entries.items() if path not in linked}
    fill_lfs(q, commit, dest, write_blobs(q.objects, to_write, dest))
    fill_submodules(q, commit, dest, entries)
    if overlay is not None:
        shown = (path for path in overlay.extra_files if path not in overlay.hidden)
        for path in shown:
            _lay(dest, path, overlay.extra_files[path], path in overlay.executables)


def _link_equal(old: Seen, new: Seen, like: Frozen, dest: Path) -> set[str]:
    """Link the regular files that are the same in both; what cannot be linked is left to write."""
    linked: set[str] = set()
    source, place = str(like.tree), str(dest)
    try:
        for path, entry in new.items():
            if old.get(path) == entry and entry.mode.startswith("100"):
                os.link(f"{source}/{path}", f"{place}/{path}", follow_symlinks=False)
                linked.add(path)
    except OSError:  # another file system, too many links, or no longer there
        return linked
    return linked


def edits(
    q: Quarantine, commit: str, overlay: Overlay, firm: Collection[Path]
) -> dict[str, Entry] | None:
    """The files of a commit that are not as in the overlay's base.

    None where a layer of them over the base's files would not do: something is gone, or is no
    regular file, or lies where one of the `firm` paths is.
    """
    old, new = composed(q, overlay.base_commit, overlay), composed(q, commit, overlay)
    if not old.keys() <= new.keys():
        return None
    found = {
        path: entry
        for path, entry in new.items()
        if old.get(path) != entry and path not in overlay.extra_files
    }
    both = [*found.values(), *(old[path] for path in found if path in old)]
    if not all(entry.mode.startswith("100") for entry in both):
        return None
    fixed = {str(path) for path in firm}
    taken = any(fixed & {path, *ancestors(path)} for path in found)
    return None if taken else found


def export_files(q: Quarantine, commit: str, dest: Path, entries: Mapping[str, Entry]) -> None:
    """Write some files of a commit into `dest`, which is made here."""
    from selfimprove.vcs.fill import fill_lfs

    make_folders(dest, entries)
    fill_lfs(q, commit, dest, write_blobs(q.objects, entries, dest))


def composed(q: Quarantine, commit: str, overlay: Overlay | None) -> Seen:
    """The entries of a commit with sealed paths as in the base and hidden ones left out.

    Do not change the answer, it is shared.
    """
    entries = q.entries(commit)
    if overlay is None or not (overlay.paths or overlay.extra_files or overlay.hidden):
        return entries
    tree = q.tree_oid(commit)
    found = overlay.laid.get(tree)
    if found is None:
        found = _laid_under(overlay, q.entries(overlay.base_commit), entries)
        remember(overlay.laid, tree, found)
    return found


def _laid_under(overlay: Overlay, base: Seen, entries: Seen) -> Seen:
    sealed = {path: entry for path, entry in base.items() if path in overlay.paths}
    firm = sealed.keys() | overlay.extra_files.keys()
    # A candidate's file in place of a folder that holds sealed files, or the reverse, gives way.
    folders = {folder for path in firm for folder in ancestors(path)}
    kept = {
        path: entry
        for path, entry in entries.items()
        if path not in overlay.paths and path not in folders and firm.isdisjoint(ancestors(path))
    }
    kept |= {path: entry for path, entry in sealed.items() if path not in overlay.extra_files}
    return {path: entry for path, entry in kept.items() if path not in overlay.hidden}


def write_blobs(objects: Objects, entries: Mapping[str, Entry], dest: Path) -> dict[str, bytes]:
    """Write blobs and symlinks below `dest`; returns the files that look like LFS pointers."""
    blobs = [(path, entry) for path, entry in entries.items() if entry.kind == "blob"]
    # Symlinks come last, so that no file is ever written through one.
    blobs.sort(key=lambda item: item[1].mode == "120000")
    if not blobs:
        return {}
    pointers: dict[str, bytes] = {}
    with objects.contents([entry.oid for _, entry in blobs]) as out:
        for path, entry in blobs:
            head = _write_blob(out, dest, path, entry)
            if head.startswith(LFS_START) and entry.mode != "120000":
                pointers[path] = head
    return pointers


LFS_START = b"version https://git-lfs.github.com/spec/v1\n"
_LFS_MAX = 1024


def make_folders(dest: Path, entries: Mapping[str, Entry]) -> None:
    """Make `dest` and every folder the entries need; refuses names no tree can hold safely."""
    dest.mkdir(parents=True, exist_ok=True)
    made: set[str] = set()
    for path, entry in entries.items():
        if any(part in ("", ".", "..") or is_dot_git(part) for part in path.split("/")):
            raise TargetError(
                f"a file named {path!r} is in the commit", "remove it: no tree can hold it safely"
            )
        folders = [path, *ancestors(path)] if entry.kind == "commit" else ancestors(path)
        for folder in folders:
            if folder in made:
                break
            made.add(folder)
    for folder in sorted(made, key=len):
        (dest / folder).mkdir(exist_ok=True)


def _write_blob(out: BinaryIO, dest: Path, path: str, entry: Entry) -> bytes:
    """Write one answer of cat-file; returns the content when it may be an LFS pointer."""
    size = begun(out, entry.oid)
    target = dest / path
    if entry.mode == "120000":
        target.symlink_to(os.fsdecode(out.read(size)))
        out.read(1)
        return b""
    with _create(target, entry.mode == "100755") as file:
        head = out.read(min(size, _CHUNK))
        file.write(head)
        left = size - len(head)
        while left:
            piece = out.read(min(left, _CHUNK))
            if not piece:
                raise ToolError(f"git stopped in the middle of {path!r}", "try again")
            file.write(piece)
            left -= len(piece)
    out.read(1)
    return head if size <= _LFS_MAX else b""


def _create(path: Path, executable: bool) -> BinaryIO:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags, 0o777 if executable else 0o666), "wb")


def _lay(dest: Path, path: str, content: bytes, executable: bool) -> None:
    place = dest / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    with _create(place, executable) as file:
        file.write(content)


def take_uncommitted(top: Path, paths: Sequence[str]) -> tuple[dict[str, bytes], frozenset[str]]:
    """Read files of the working tree for an Overlay: contents, and which are programs."""
    found = {path: top / path for path in paths if (top / path).is_file()}
    executables = frozenset(path for path, place in found.items() if os.access(place, os.X_OK))
    return {path: place.read_bytes() for path, place in found.items()}, executables
