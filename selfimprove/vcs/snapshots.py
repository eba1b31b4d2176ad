"""Files kept as commits at a ref of their own: no index, no working tree, one git process each."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from selfimprove.vcs.git import Git, failed

_TIP = re.compile(r"[0-9a-f]{40,64}\n")


@dataclass(frozen=True)
class Snapshot:
    """One commit to make."""

    ref: str
    message: str
    date: int
    """Seconds since 1970."""
    files: Mapping[str, bytes]
    removed: Sequence[str] = ()
    """Paths and folders that are taken out first, where they are there."""
    afresh: bool = False
    """Nothing of the commit before is left in it."""


def store(git: Git, snapshot: Snapshot, parent: str) -> str:
    """Make the commit on top of `parent` (empty: there is none) and move the ref; gives its id.

    Raises ToolError where the ref was moved meanwhile to what does not lead here.
    """
    options = ("--quiet", "--done")
    answer = git.attempt("fast-import", *options, stdin=b"".join(_stream(snapshot, parent)))
    made = answer.stdout.decode(errors="replace")
    if answer.code != 0 or not _TIP.fullmatch(made):
        raise failed(("fast-import",), git.git_dir, answer)
    return made.strip()


def _stream(snapshot: Snapshot, parent: str) -> Iterator[bytes]:
    yield f"commit {snapshot.ref}\nmark :1\n".encode()
    yield f"committer selfimprove <selfimprove@localhost> {snapshot.date} +0000\n".encode()
    yield from _data(snapshot.message.encode())
    if parent:
        yield f"from {parent}\n".encode()
    if snapshot.afresh:
        yield b"deleteall\n"
    for path in snapshot.removed:
        yield f"D {_quoted(path)}\n".encode()
    for path, content in snapshot.files.items():
        yield f"M 100644 inline {_quoted(path)}\n".encode()
        yield from _data(content)
    yield b"\nget-mark :1\ndone\n"


def _data(content: bytes) -> Iterator[bytes]:
    yield f"data {len(content)}\n".encode()
    yield content
    yield b"\n"


def _quoted(path: str) -> str:
    plain = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{plain}"'


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
    wanted = "".join(f"{blob}\n" for blob in files.values()).encode()
    with git.stream("cat-file", "--batch", stdin=wanted) as out:
        for path in files:
            size = int(out.readline().split()[2])
            yield path, out.read(size)
            out.read(1)
