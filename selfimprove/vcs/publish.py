"""Brings proven commits into the target: objects first, then all refs at once or none."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from selfimprove.errors import ToolError
from selfimprove.vcs.quarantine import Quarantine
from selfimprove.vcs.refs import RefMoved, RefUpdate, read_refs, update_refs
from selfimprove.vcs.target import Target

__all__ = ["BranchInUse", "RefMoved", "RefUpdate", "blocked_names", "checked_out", "publish"]


class BranchInUse(ToolError):  # noqa: N818  (says what is so, as RefMoved does)
    """A branch cannot be moved: a working tree of the target stands on it."""


def publish(target: Target, q: Quarantine, updates: Sequence[RefUpdate]) -> None:
    """Move refs of the target to commits of the quarantine, all or none.

    Raises BranchInUse and RefMoved.
    """
    standing = _standing(target)
    for update in updates:
        if update.ref in standing:
            raise BranchInUse(
                f"{update.ref} is checked out in {standing[update.ref]}",
                "switch that worktree to another branch; the next run or resume publishes it",
            )
    new = list(dict.fromkeys(update.new for update in updates if not update.deletes))
    if new:
        target.git.run(
            *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"),
            *("--no-recurse-submodules", "--no-show-forced-updates"),
            os.fspath(q.path),
            *new,
        )
    update_refs(target.git, updates)


def checked_out(target: Target, ref: str) -> Path | None:
    """The worktree of the target that stands on `ref`, a rebase or bisect of it included."""
    return _standing(target).get(ref)


def blocked_names(target: Target, refs: Sequence[str]) -> list[str]:
    """Refs of the target that leave no room for the given ones: `improve` for `improve/x`."""
    return [
        name
        for name in read_refs(target.git)
        if any(ref.startswith(f"{name}/") or name.startswith(f"{ref}/") for ref in refs)
    ]


def _standing(target: Target) -> dict[str, Path]:
    """Full names of the branches that worktrees stand on, and where."""
    found: dict[str, Path] = {}
    out = target.git.run("worktree", "list", "--porcelain", "-z")
    for block in out.split(b"\0\0"):
        facts = dict(line.partition(b" ")[::2] for line in block.split(b"\0") if line)
        place = Path(os.fsdecode(facts.get(b"worktree", b"")))
        # Removed by hand and not pruned yet: nobody stands there (locked: on another disk).
        if b"branch" in facts and (place.exists() or b"locked" in facts):
            found[os.fsdecode(facts[b"branch"])] = place
    # In a rebase or bisect HEAD is detached; where it will go back to is in these files.
    common = target.common_dir
    for git_dir in (common, *(common / "worktrees").glob("*")):
        place = git_dir.parent if git_dir == common else _place(git_dir)
        found |= dict.fromkeys(_interrupted(git_dir), place)
    return found


def _place(git_dir: Path) -> Path:
    return Path(_text(git_dir / "gitdir")).parent


def _interrupted(git_dir: Path) -> set[str]:
    started = _text(git_dir / "BISECT_START")
    found = {started, f"refs/heads/{started}"} if started else set()
    for name in ("rebase-merge/head-name", "rebase-apply/head-name", "rebase-merge/update-refs"):
        found |= {line for line in _text(git_dir / name).splitlines() if line.startswith("refs/")}
    return found


def _text(path: Path) -> str:
    if not path.is_file():
        return ""
    return path.read_text(encoding="utf-8", errors="surrogateescape").strip()
