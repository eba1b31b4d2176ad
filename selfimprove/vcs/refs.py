"""Refs move by compare-and-swap, several at once or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from selfimprove.errors import ToolError
from selfimprove.vcs.git import Git, failed


@dataclass(frozen=True)
class RefUpdate:
    """One ref and where it goes; all zeros are "must not exist" as old, "delete" as new."""

    ref: str
    new: str
    old: str

    @property
    def deletes(self) -> bool:
        """Whether the ref is to be removed."""
        return not self.new.strip("0")


class RefMoved(ToolError):  # noqa: N818  (says what happened, as the records do)
    """A ref is not where it was left: somebody else moved, made or removed it."""

    def __init__(self, ref: str, expected: str, found: str | None) -> None:
        self.ref = ref
        self.expected = expected
        self.found = found
        was = f"at {expected[:12]}" if expected.strip("0") else "absent"
        now = f"at {found[:12]}" if found else "absent"
        super().__init__(
            f"{ref} was moved by someone else: expected {was}, it is {now}",
            "take it up with 'selfimprove resume --adopt', or put it back with '--restore'",
        )


def read_refs(git: Git, *patterns: str) -> dict[str, str]:
    """Every ref below the given prefixes (or of those exact names) and the object it names."""
    out = git.run("for-each-ref", "--format=%(objectname) %(refname)", *patterns)
    rows = (line.split(" ", 1) for line in out.decode("utf-8", "surrogateescape").splitlines())
    return {ref: oid for oid, ref in rows}


def update_refs(git: Git, updates: Sequence[RefUpdate]) -> None:
    """Move all refs in one transaction, or none and raise RefMoved.

    A ref that already stands where it should go counts as moved by an earlier, interrupted try.
    """
    if not updates:
        return
    answer = git.attempt("update-ref", "--no-deref", "-z", "--stdin", stdin=_script(updates))
    if answer.code == 0:
        return
    now = read_refs(git, *(update.ref for update in updates))
    left = [update for update in updates if now.get(update.ref) != _wanted(update)]
    for update in left:
        found = now.get(update.ref)
        if (found or "") != (update.old if update.old.strip("0") else ""):
            raise RefMoved(update.ref, update.old, found)
    if len(left) == len(updates):
        raise failed(("update-ref",), git.git_dir, answer)
    update_refs(git, left)


def _wanted(update: RefUpdate) -> str | None:
    return None if update.deletes else update.new


def _script(updates: Sequence[RefUpdate]) -> bytes:
    words = []
    for update in updates:
        if update.deletes:
            words += [f"delete {update.ref}", update.old]
        else:
            words += [f"update {update.ref}", update.new, update.old]
    return b"".join(word.encode("utf-8", "surrogateescape") + b"\0" for word in words)
