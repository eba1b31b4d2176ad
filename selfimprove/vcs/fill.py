"""Fills submodules and LFS files from the target's own objects; what is missing is said at once."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from selfimprove.errors import TargetError
from selfimprove.vcs.export import make_folders, write_blobs
from selfimprove.vcs.git import Git
from selfimprove.vcs.objects import Objects
from selfimprove.vcs.quarantine import Entry, Quarantine, parse_tree

_POINTER = re.compile(rb"^oid sha256:([0-9a-f]{64})\nsize (\d+)$", re.MULTILINE)


def fill_lfs(q: Quarantine, commit: str, dest: Path, pointers: Mapping[str, bytes]) -> None:
    """Put the real content where LFS pointers stand, for paths that the commit gives to LFS."""
    if not pointers:
        return
    given = lfs_paths(q, commit, list(pointers))
    if not given:
        return
    store = _lfs_store(q)
    missing = []
    for path in given:
        found = _POINTER.search(pointers[path])
        if found is None:
            continue
        oid, size = found[1].decode(), int(found[2])
        source = store / oid[:2] / oid[2:4] / oid
        if size and not (source.is_file() and source.stat().st_size == size):
            missing.append(path)
        else:
            _copy_over(source, dest / path, size)
    if missing:
        raise TargetError(
            f"{len(missing)} LFS file(s) are not in {q.target.top}, {missing[0]!r} for one",
            f"fetch them: git -C {shlex.quote(str(q.target.top))} lfs pull",
        )


def fill_submodules(q: Quarantine, commit: str, dest: Path, entries: Mapping[str, Entry]) -> None:
    """Write the files of every submodule, to any depth."""
    links = {path: entry.oid for path, entry in entries.items() if entry.kind == "commit"}
    if links:
        names = _module_names(q.git, q.entries(commit).get(".gitmodules"))
        _fill(q, _Level(q.target.top, [q.target.common_dir, q.target.git_dir], dest), links, names)


class _Level:
    """One repository in the nest: its working tree, its git folders, and where it is written."""

    def __init__(self, top: Path, git_dirs: Sequence[Path], dest: Path) -> None:
        self.top = top
        self.git_dirs = git_dirs
        self.dest = dest


def _fill(q: Quarantine, level: _Level, links: Mapping[str, str], names: Mapping[str, str]) -> None:
    for path, oid in links.items():
        git_dir = _find(level, path, names.get(path, path), oid)
        if git_dir is None:
            where = shlex.quote(str(q.target.top))
            raise TargetError(
                f"submodule {path!r} at {oid[:12]} is not in {level.top}",
                f"fetch it: git -C {where} submodule update --init --recursive",
            )
        git = _git(git_dir)
        entries = parse_tree(git.run("ls-tree", "-r", "-z", "--full-tree", oid))
        dest = level.dest / path
        make_folders(dest, entries)
        write_blobs(Objects(git), entries, dest)
        deeper = {name: entry.oid for name, entry in entries.items() if entry.kind == "commit"}
        if deeper:
            inner = _Level(level.top / path, [git_dir], dest)
            _fill(q, inner, deeper, _module_names(git, entries.get(".gitmodules")))


def _find(level: _Level, path: str, name: str, oid: str) -> Path | None:
    """The git folder of a submodule that holds the commit."""
    places = [level.top / path / ".git"]
    if ".." not in name.split("/"):
        places += [git_dir / "modules" / name for git_dir in level.git_dirs]
    for place in places:
        git_dir = _resolved(place)
        if git_dir is None:
            continue
        if _git(git_dir).attempt("cat-file", "-e", f"{oid}^{{commit}}").code == 0:
            return git_dir
    return None


def _git(git_dir: Path) -> Git:
    # A submodule's own configuration names a working tree, which may be gone: any other will do.
    return Git(git_dir, git_dir)


def _resolved(place: Path) -> Path | None:
    """A git folder, or the one that a `.git` file points at."""
    if place.is_file():
        text = place.read_text(encoding="utf-8", errors="surrogateescape")
        place = place.parent / text.removeprefix("gitdir:").strip()
    return place.resolve() if (place / "HEAD").is_file() else None


def _module_names(git: Git, entry: Entry | None) -> dict[str, str]:
    """Path -> name, as .gitmodules has it."""
    if entry is None:
        return {}
    out = git.run("config", f"--blob={entry.oid}", "-z", "--get-regexp", r"^submodule\..*\.path$")
    rows = [os.fsdecode(row) for row in out.split(b"\0") if row]
    pairs = (row.split("\n", 1) for row in rows if "\n" in row)
    return {path: key.removeprefix("submodule.").removesuffix(".path") for key, path in pairs}


def lfs_paths(q: Quarantine, commit: str, paths: list[str]) -> list[str]:
    """Those of the paths that the commit's attributes give to LFS."""
    entries = q.entries(commit).items()
    rules = [entry.oid for path, entry in entries if path.rsplit("/", 1)[-1] == ".gitattributes"]
    if not paths or not any(b"filter=lfs" in text for text in q.blobs(rules).values()):
        return []
    with q.scratch() as folder:
        private = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
        q.git.run("read-tree", q.tree_oid(commit), env=private)
        names = b"".join(os.fsencode(path) + b"\0" for path in paths)
        args = ("check-attr", "--cached", "-z", "--stdin", "filter")
        said = q.git.run(*args, stdin=names, env=private).split(b"\0")
    rows = zip(said[0::3], said[2::3], strict=False)
    return [os.fsdecode(path) for path, value in rows if value == b"lfs"]


def _lfs_store(q: Quarantine) -> Path:
    chosen = q.target.git.attempt("config", "--type=path", "lfs.storage").stdout
    base = q.target.common_dir
    return base / (os.fsdecode(chosen).rstrip("\n") or "lfs") / "objects"


def _copy_over(source: Path, place: Path, size: int) -> None:
    mode = place.stat().st_mode
    place.unlink()
    if size:
        shutil.copyfile(source, place)
    else:
        place.touch()
    place.chmod(mode)
