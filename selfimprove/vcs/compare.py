"""What differs between two commits, told from their trees alone: no renames, no filters."""

from __future__ import annotations

import os
from typing import Literal

from selfimprove.vcs.changes import Change
from selfimprove.vcs.quarantine import Entry, Quarantine

SYMLINK = "120000"


def changes_between(q: Quarantine, old: str, new: str) -> list[Change]:
    """Every path that differs in mode, type or content, sorted."""
    before, after = q.entries(old), q.entries(new)
    paths = sorted(
        path for path in before.keys() | after.keys() if before.get(path) != after.get(path)
    )
    links = [after[path].oid for path in paths if path in after and after[path].mode == SYMLINK]
    blobs = q.blobs(links)
    return [_change(path, before.get(path), after.get(path), blobs) for path in paths]


def _change(
    path: str, before: Entry | None, after: Entry | None, blobs: dict[str, bytes]
) -> Change:
    if after is None:
        assert before is not None
        return Change(path, "deleted", "", before.mode, "")
    link = os.fsdecode(blobs[after.oid]) if after.mode == SYMLINK else ""
    kind: Literal["added", "modified"] = "added" if before is None else "modified"
    mode, oid = (before.mode, before.oid) if before else ("", "")
    return Change(path, kind, after.mode, mode, after.oid, link, oid)
