"""Trees from edits, through a private index that is thrown away."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from selfimprove.vcs.quarantine import Quarantine


def tree_with(
    q: Quarantine, parent: str, removed: Iterable[str], added: Mapping[str, tuple[str, str]]
) -> str:
    """The tree of `parent` without some paths and with others: path -> (mode, oid)."""
    zeros = "0" * len(parent)
    removed = list(removed)
    lines = [f"0 {zeros}\t".encode() + os.fsencode(path) for path in removed]
    lines += [f"{mode} {oid}\t".encode() + os.fsencode(path) for path, (mode, oid) in added.items()]
    if not lines:
        return q.tree_oid(parent)
    with q.scratch() as folder:
        private = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
        q.git.run("read-tree", q.tree_oid(parent), env=private)
        q.git.run(
            *("update-index", "--add", "--remove", "--replace", "-z", "--index-info"),
            stdin=b"".join(line + b"\0" for line in lines),
            env=private,
        )
        return q.git.run("write-tree", env=private).decode().strip()
