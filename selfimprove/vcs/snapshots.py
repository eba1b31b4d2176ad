"""Files kept as commits at a ref of their own."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from selfimprove.vcs.git import Git
from selfimprove.vcs.objects import Objects, whole


def blob_id(data: bytes, length: int) -> str:
    """The id that git gives a file, in a repository whose ids have this length."""
    made = hashlib.sha256 if length == 64 else hashlib.sha1
    return made(f"blob {len(data)}\0".encode() + data).hexdigest()


def tip(git: Git, ref: str) -> tuple[str, str]:
    """The commit that a ref holds and its message; both empty where it is not there."""
    answer = git.attempt("log", "-1", "--format=%H%n%B", ref, "--")
    said = answer.stdout.decode("utf-8", "replace") if answer.code == 0 else ""
    commit, _, message = said.partition("\n")
    return commit, message


def listed(git: Git, commit: str, *below: str) -> dict[str, str]:
    """The files of a commit: path -> blob."""
    out = git.run("ls-tree", "-r", "-z", "--full-tree", commit, *(("--", *below) if below else ()))
    rows = (row.partition(b"\t") for row in out.split(b"\0") if row)
    return {
        path.decode("utf-8", "surrogateescape"): facts.split()[2].decode()
        for facts, _, path in rows
    }


def read(git: Git, commit: str) -> Iterator[tuple[str, bytes]]:
    """Every file of a commit, with its content."""
    files = listed(git, commit)
    with Objects(git).contents(list(files.values())) as out:
        for path, blob in files.items():
            yield path, whole(out, blob)
