"""What is the user's in the target, as a digest: proof that a run left it alone."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path

from selfimprove.vcs.refs import read_refs
from selfimprove.vcs.target import Target

_PUBLISHED = ("refs/heads/improve/", "refs/tags/archive/", "refs/selfimprove/")
_OUR_ROOT = ".selfimprove"


@dataclass(frozen=True)
class UserState:
    """Digests of what a run must never write; equal when nothing was touched."""

    head: str
    index: str
    stash: str
    config: str
    hooks: str
    excludes: str
    refs: str
    """Every ref but those that runs publish."""
    tree: str
    """Name, type, mode, size and time of everything in the working tree."""

    def differences(self, other: UserState) -> list[str]:
        """Names of what is not the same."""
        names = [field.name for field in fields(self)]
        return [name for name in names if getattr(self, name) != getattr(other, name)]


def user_state(target: Target) -> UserState:
    """Look at everything in the target that is the user's own; writes nothing."""
    git_dir, common = target.git_dir, target.common_dir
    refs = read_refs(target.git)
    theirs = {ref: oid for ref, oid in refs.items() if not ref.startswith(_PUBLISHED)}
    return UserState(
        head=_digest(_contents([git_dir / "HEAD", git_dir / "logs" / "HEAD"])),
        index=_digest(_contents([git_dir / "index"])),
        stash=_digest(_contents([common / "refs" / "stash", common / "logs" / "refs" / "stash"])),
        config=_digest(_contents([common / "config", git_dir / "config.worktree"])),
        hooks=_digest(_contents(sorted(_files(common / "hooks")))),
        excludes=_digest(_contents(sorted(_files(common / "info")))),
        refs=_digest(
            f"{ref} {oid}".encode(errors="surrogateescape") for ref, oid in theirs.items()
        ),
        tree=_digest(_stats(target.top)),
    )


def _digest(parts: Iterable[bytes]) -> str:
    made = hashlib.sha256()
    for part in parts:
        made.update(len(part).to_bytes(8, "big") + part)
    return made.hexdigest()


def _contents(paths: Iterable[Path]) -> Iterator[bytes]:
    for path in paths:
        yield os.fsencode(path)
        yield path.read_bytes() if path.is_file() else b"absent"


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def _stats(top: Path) -> Iterator[bytes]:
    """Every entry below the working tree but .git and our own root, in a fixed order."""
    folders = [(top, "")]
    while folders:
        folder, prefix = folders.pop()
        try:
            found = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            yield f"{prefix} unreadable {error.errno}".encode(errors="surrogateescape")
            continue
        for entry in found:
            if entry.name == ".git" or (not prefix and entry.name == _OUR_ROOT):
                continue
            name = prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                folders.append((Path(entry.path), name + "/"))
                yield os.fsencode(name + "/")
                continue
            stat = entry.stat(follow_symlinks=False)
            facts = f" {stat.st_mode} {stat.st_size} {stat.st_mtime_ns} {stat.st_ino}"
            yield os.fsencode(name) + facts.encode()
