"""Objects that git itself would refuse from a stranger."""

from __future__ import annotations

import pytest

from selfimprove.vcs.quarantine import Quarantine
from selfimprove.vcs.sound import unsound

from .gitrepo import sh

EVIL_MODULE = b'[submodule "x"]\n\tpath = x\n\turl = -u./evil\n'


def brought(q: Quarantine, rows: bytes) -> str:
    """A commit on the target's whose tree is made of these rows."""
    tree = sh(q.path, "mktree", "-z", stdin=rows)
    return sh(q.path, "commit-tree", "-p", q.target.head, "-m", "brought", tree)


def row(q: Quarantine, name: str, data: bytes = b"1\n", mode: str = "100644") -> bytes:
    oid = sh(q.path, "hash-object", "-w", "--stdin", stdin=data)
    return f"{mode} blob {oid}\t{name}\0".encode()


def test_an_honest_commit_is_sound(quarantine: Quarantine) -> None:
    commit = brought(quarantine, row(quarantine, "a.py") + row(quarantine, "link", b"a.py"))
    assert unsound(quarantine, quarantine.target.head, commit) == ""
    assert unsound(quarantine, commit, commit) == ""


@pytest.mark.parametrize(
    ("name", "data", "mode", "says"),
    [
        (".gitmodules", EVIL_MODULE, "100644", "gitmodulesUrl"),
        (".gitmodules", b"elsewhere", "120000", "gitmodulesSymlink"),
        (".gi\u200ct", b"", "100644", "hasDotgit"),
        ("git~1", b"", "100644", "hasDotgit"),
    ],
)
def test_what_would_turn_git_against_its_user_is_not(
    quarantine: Quarantine, name: str, data: bytes, mode: str, says: str
) -> None:
    commit = brought(quarantine, row(quarantine, name, data, mode))
    assert says in unsound(quarantine, quarantine.target.head, commit)
    assert unsound(quarantine, commit, commit) == "", "old faults are not blamed on anybody"


def test_an_object_that_is_not_there_is_noticed(quarantine: Quarantine) -> None:
    missing = f"100644 blob {'1' * 40}\ta.py\0".encode()
    tree = sh(quarantine.path, "mktree", "-z", "--missing", stdin=missing)
    commit = sh(quarantine.path, "commit-tree", "-p", quarantine.target.head, "-m", "m", tree)
    with pytest.raises(Exception, match="1111"):
        unsound(quarantine, quarantine.target.head, commit)
