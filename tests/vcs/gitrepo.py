"""Short ways to make and look at repositories with the user's own git."""

from __future__ import annotations

import subprocess
from pathlib import Path

from selfimprove.vcs.importing import NewCommit
from selfimprove.vcs.quarantine import Quarantine
from selfimprove.vcs.trees import Collected, Edited, collect


def sh(cwd: Path, *args: str, stdin: bytes | None = None) -> str:
    """Run the user's own git."""
    done = subprocess.run(["git", *args], cwd=cwd, input=stdin, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def write(root: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def commit(root: Path, files: dict[str, str | bytes], message: str = "change") -> str:
    write(root, files)
    sh(root, "add", "-A", "-f")
    sh(root, "commit", "-q", "--allow-empty", "-m", message)
    return sh(root, "rev-parse", "HEAD")


def collected(q: Quarantine, edited: Edited) -> Collected:
    date = "2023-11-14T22:13:20+00:00"
    about = NewCommit("refs/heads/found", "found\n", date, edited.start, anywhere=True)
    return collect(q, edited, about)
