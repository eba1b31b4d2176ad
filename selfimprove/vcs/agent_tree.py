"""The tree an executor edits: the files, and a small repository of its own around them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from selfimprove.vcs.export import Overlay, composed, export
from selfimprove.vcs.git import Git, failed
from selfimprove.vcs.index import tree_with
from selfimprove.vcs.quarantine import Quarantine

_AS_GIVEN = ("the tree as given\n", "2000-01-01T00:00:00Z")
DEPTH = 50
"""Commits of history an executor is given."""

_CONFIG = """[core]
\trepositoryformatversion = {version}
\tbare = false
\tfilemode = true
\tlogAllRefUpdates = false
\tautocrlf = false
[user]
\tname = executor
\temail = executor@localhost
[gc]
\tauto = 0
[commit]
\tgpgSign = false
"""


def agent_clone(
    q: Quarantine, branch_tip: str, branch: str, dest: Path, overlay: Overlay | None = None
) -> None:
    """Make an executor's tree: own objects, that branch alone, no remote, no reflog.

    Hidden paths are in neither files nor objects: where there are any, history is left out and the
    branch is one commit of what remains.
    """
    export(q, branch_tip, dest, overlay)
    add_repository(q, branch_tip, branch, Around(dest, dest), overlay)


@dataclass(frozen=True)
class Around:
    """Where a repository goes."""

    folder: Path
    """What its `.git` is made in: the files' own folder, or a layer to be laid over them."""
    files: Path


def add_repository(
    q: Quarantine, branch_tip: str, branch: str, around: Around, overlay: Overlay | None = None
) -> None:
    """Make a repository around an exported tree."""
    tip, shallow = _history(q, branch_tip, overlay)
    _make(q, tip, shallow, branch, around)


def add_single_commit(q: Quarantine, commit: str, tree: Path) -> None:
    """Make a repository around an exported tree that is its only commit, on a branch `main`."""
    tip = q.commit_tree(q.tree_oid(commit), [], *_AS_GIVEN)
    _make(q, tip, [], "main", Around(tree, tree))


def _make(q: Quarantine, tip: str, shallow: list[str], branch: str, around: Around) -> None:
    git_dir = around.folder / ".git"
    for folder in ("objects/pack", "objects/info", "refs/heads", "refs/tags", "info"):
        (git_dir / folder).mkdir(parents=True)
    ref = f"refs/heads/{branch.removeprefix('refs/heads/')}"
    (git_dir / "HEAD").write_text(f"ref: {ref}\n", encoding="utf-8")
    (git_dir / "packed-refs").write_text(f"{tip} {ref}\n", encoding="utf-8")
    (git_dir / "config").write_text(_config(len(tip)), encoding="utf-8")
    if shallow:
        (git_dir / "shallow").write_text("".join(f"{oid}\n" for oid in shallow), encoding="utf-8")
    # Nothing of the quarantine's files is shared: packing copies.
    cut = "".join(f"--shallow {oid}\n" for oid in shallow)
    pack = os.fspath(git_dir / "objects" / "pack" / "pack")
    options = ["--revs", "--quiet", "--window=0", "--compression=1", "--threads=1"]
    options += ["--shallow"] if shallow else []
    q.git.run("pack-objects", *options, pack, stdin=f"{cut}{tip}\n".encode())
    _fill_index(git_dir, around.files, tip)


def _history(q: Quarantine, tip: str, overlay: Overlay | None) -> tuple[str, list[str]]:
    """The commit to give, and where its history is cut off."""
    visible = composed(q, tip, Overlay(tip, hidden=overlay.hidden)) if overlay else q.entries(tip)
    hidden = q.entries(tip).keys() - visible.keys()
    if hidden:
        tree = tree_with(q, tip, removed=sorted(hidden), added={})
        return q.commit_tree(tree, [], *_AS_GIVEN), []
    rows = q.git.text("rev-list", "--parents", f"--max-count={DEPTH}", tip).splitlines()
    parents = {row.split()[0]: row.split()[1:] for row in rows}
    cut_before = {oid for oid, above in parents.items() if not parents.keys() >= set(above)}
    # Where the target itself is shallow, its own boundary is one too.
    boundary = q.path / "shallow"
    given = set(boundary.read_text().split()) if boundary.is_file() else set()
    return tip, sorted(cut_before | (given & parents.keys()))


def _config(oid_length: int) -> str:
    if oid_length == 40:
        return _CONFIG.format(version=0)
    return _CONFIG.format(version=1) + "[extensions]\n\tobjectFormat = sha256\n"


def _fill_index(git_dir: Path, files: Path, tip: str) -> None:
    """Give the new repository its index, so that the executor's `git status` is clean."""
    git = Git(git_dir, files)
    git.run("read-tree", tip)
    args = ("update-index", "-q", "--refresh")
    answer = git.attempt(*args)
    # 1: some files differ from the commit (overlaid, LFS): true, and said by status.
    if answer.code not in (0, 1):
        raise failed(args, git.git_dir, answer)
