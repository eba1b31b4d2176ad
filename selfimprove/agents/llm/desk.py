"""The reading tools of a model: it may look at its tree, and at what the request tells of it.

Each tool answers in text, refusals too: a model that asked for the wrong thing reads why and goes
on.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Any

from selfimprove.process import Child, StopToken, base_env, run_child

LINES = 400
"""Of a file, shown at once."""
CHARACTERS = 24_000
"""Of any tool's answer."""
NAMES = 400
MATCHES = 100
LARGEST = 4 << 20
"""Bytes of a file that is still read."""
SEARCH_TIMEOUT = 20.0


class RefusedError(Exception):
    """What a tool will not do, in words for the model."""


@dataclass(frozen=True)
class Desk:
    """One agent's tree, seen through tools; nothing here changes it."""

    tree: Path
    stop: StopToken
    history_rows: tuple[Any, ...] = ()
    commits: str = ""
    """The commits that led to this tree, newest first."""

    def list_files(self, folder: str = ".", pattern: str = "*") -> str:
        """List the files below a folder, with their sizes in bytes.

        Args:
            folder: Path from the root of the repository; "." for the root itself.
            pattern: Only names or paths that match, such as "*.py" or "src/*.c".
        """
        top = self.place(folder)
        if not top.is_dir():
            raise RefusedError(f"{folder} is no folder")
        found = [
            f"{path}\t{size}"
            for path, size in self._files(top)
            if fnmatch(path, pattern) or fnmatch(PurePosixPath(path).name, pattern)
        ]
        left = len(found) - NAMES
        more = [f"... and {left} more: name a folder or a pattern"] if left > 0 else []
        return "\n".join([*found[:NAMES], *more]) or "nothing there matches"

    def read(self, path: str, start_line: int = 1) -> str:
        """Read a text file, its lines numbered; long files come in parts.

        Args:
            path: Path from the root of the repository.
            start_line: The first line to show, counted from 1.
        """
        lines = self.text(path).splitlines()
        first = max(1, start_line)
        shown = lines[first - 1 : first - 1 + LINES]
        if not shown:
            return f"{path} has {len(lines)} lines"
        body = "\n".join(f"{number:6}\t{line}" for number, line in enumerate(shown, first))
        last = first + len(shown) - 1
        more = f"\n... {len(lines)} lines in all" if last < len(lines) else ""
        return capped(f"{path}, lines {first} to {last}\n{body}{more}")

    def search(self, pattern: str, folder: str = ".", files: str = "") -> str:
        """Search the files of a folder for lines that match.

        Args:
            pattern: A POSIX extended regular expression, as `grep -E` takes it.
            folder: Path from the root of the repository to search below; a file will do.
            files: Only files of such a name, such as "*.py"; empty for all.
        """
        place = self.place(folder)
        if not place.exists():
            raise RefusedError(f"{folder} is not there")
        inside = str(place.relative_to(self.tree))
        named = (f"--include={files}",) if files else ()
        argv = ("grep", "-rnIE", "--exclude-dir=.git", *named, "-e", pattern, "--", inside)
        child = Child(argv, self.tree, base_env(), SEARCH_TIMEOUT, output_cap=4 * CHARACTERS)
        outcome = run_child(child, self.stop)
        self.stop.raise_if_set()
        if outcome.error or outcome.timed_out or outcome.exit_code not in (0, 1):
            said = outcome.error or outcome.stderr.decode("utf-8", "replace").strip()
            raise RefusedError(f"the search failed: {said or 'it took too long'}"[:400])
        lines = outcome.stdout.decode("utf-8", "replace").splitlines()
        more = [f"... and {len(lines) - MATCHES} more"] if len(lines) > MATCHES else []
        found = [line.removeprefix("./")[:400] for line in lines[:MATCHES]]
        return capped("\n".join([*found, *more]) or "no line matches")

    def log(self) -> str:
        """Show the commits that led to this state of the code, newest first."""
        return capped(self.commits or "no commits are shown here")

    def history(self, rounds: int = 5) -> str:
        """Show what the latest rounds tried, how it was measured and what was learnt.

        Args:
            rounds: How many of the latest rounds to show.
        """
        rows = self.history_rows[-max(1, rounds) :]
        if not rows:
            return "this is the first round: there is no history"
        return capped("\n".join(json.dumps(row, ensure_ascii=False) for row in rows))

    # --- paths ---

    def place(self, path: str) -> Path:
        """Where a path of the model's is; raises RefusedError for what leads out of the tree."""
        pure = PurePosixPath(path.strip() or ".")
        if pure.is_absolute() or ".." in pure.parts or ".git" in pure.parts or "\0" in path:
            raise RefusedError(f"{path!r}: name a path inside the repository, from its root")
        place = self.tree / pure
        if not place.resolve().is_relative_to(self.tree.resolve()):
            raise RefusedError(f"{path!r} is a link that leads out of the repository")
        return place

    def text(self, path: str) -> str:
        """A text file's content, as it is but for bytes that are no UTF-8."""
        return self.data(path).decode("utf-8", "replace")

    def data(self, path: str) -> bytes:
        """A regular file's bytes; raises RefusedError."""
        place = self.place(path)
        try:
            about = place.stat()
            if not stat.S_ISREG(about.st_mode):
                raise RefusedError(f"{path} is no file")
            if about.st_size > LARGEST:
                raise RefusedError(f"{path} has {about.st_size} bytes: use search")
            data = place.read_bytes()
        except OSError as error:
            raise RefusedError(f"{path}: {error.strerror or error}") from None
        if b"\0" in data[:8000]:
            raise RefusedError(f"{path} is no text ({len(data)} bytes)")
        return data

    def _files(self, top: Path) -> Iterator[tuple[str, int]]:
        for place, names, files in os.walk(top):
            folder = Path(place)
            names[:] = sorted(name for name in names if name != ".git")
            for name in sorted(files):
                path = folder / name
                yield path.relative_to(self.tree).as_posix(), path.lstat().st_size


def capped(text: str) -> str:
    """A text cut to what a tool may answer, saying so."""
    if len(text) <= CHARACTERS:
        return text
    return f"{text[:CHARACTERS]}\n[... {len(text) - CHARACTERS} characters left out ...]"
