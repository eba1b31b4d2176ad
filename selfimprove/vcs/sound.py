"""What a candidate brings, checked by git as a server checks what is pushed to it."""

from __future__ import annotations

from pathlib import Path

from selfimprove.errors import ToolError
from selfimprove.vcs.quarantine import Quarantine


def unsound(q: Quarantine, base: str, commit: str) -> str:
    """What is wrong with objects of `commit` that `base` does not have; empty where nothing is.

    Only those are looked at: a repository's old faults are not blamed on a candidate. They are
    packed and unpacked into a folder that is thrown away, which checks forms, names and links.
    """
    pack = q.git.run(
        *("pack-objects", "--revs", "--thin", "--stdout", "-q"),
        stdin=f"{commit}\n^{base}\n".encode(),
    )
    with q.scratch() as folder:
        places = {
            "GIT_OBJECT_DIRECTORY": folder,
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(Path(q.path, "objects")),
        }
        answer = q.git.attempt(
            "index-pack", "--strict", "--fix-thin", "--stdin", stdin=pack, env=places
        )
    if answer.code == 0:
        return ""
    said = [line for line in answer.stderr.splitlines() if line.startswith("error: ")]
    if not said:
        raise ToolError(
            f"git index-pack failed in {q.path}: {answer.stderr.strip()[-200:]}",
            "see whether the disk is full",
        )
    return said[0].removeprefix("error: ")
