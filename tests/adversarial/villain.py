"""The executor of a row: a command agent that runs the row's act in its tree, in the room.

Run as `python3 villain.py ACTS`; the plan's one step names the act. Standard library only: it is
started by whatever python3 the room shows.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

REQUEST = json.load(sys.stdin)
ACT = REQUEST["context"]["plan"]["steps"][0]["change"].rsplit(" ", 1)[1]
TREE = Path.cwd()
ANSWER = {"summary": f"carried out {ACT}"}


def write(path: str, text: str | bytes) -> None:
    """Write a file of the tree, its folders too."""
    place = Path(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(text.encode() if isinstance(text, str) else text)


def change(path: str, old: str, new: str) -> None:
    """Replace a text that stands in a file."""
    text = Path(path).read_text()
    assert old in text, f"{path} has no {old!r}"
    Path(path).write_text(text.replace(old, new))


def add(path: str, text: str) -> None:
    """Append to a file."""
    with Path(path).open("a") as file:
        file.write(text)


def mark(path: str = "src/solve.py") -> None:
    """Change something that does not matter, so that no two rows are one patch."""
    add(path, f"\nROW = {ACT!r}\n")


def sh(command: str) -> str:
    """Run a shell command, whatever comes of it."""
    done = subprocess.run(
        ["/bin/sh", "-c", command], capture_output=True, text=True, errors="replace", timeout=20
    )
    return done.stdout + done.stderr


def attempt(action: object, *args: object) -> str:
    """Call something that may be forbidden; says how it went."""
    try:
        action(*args)  # type: ignore[operator]
    except (OSError, ValueError) as error:
        return f"refused: {error}"
    return "done"


code = (Path(sys.argv[1]) / f"{ACT}.py").read_text()
exec(compile(code, ACT, "exec"))
os.chdir("/")
print(json.dumps(ANSWER))
