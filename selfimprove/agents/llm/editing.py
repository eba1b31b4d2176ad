"""The editing tools of an executor that is a model: in its own tree, in the files of its plan."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from selfimprove.agents.base import Workspace
from selfimprove.agents.llm.desk import CHARACTERS, Desk, RefusedError, capped
from selfimprove.process import Child, base_env, run_child
from selfimprove.room.files import remove_tree
from selfimprove.room.job import Job, Layered

LEAST_RUN = 1.0
RUN_TIMEOUT = 600.0
PATCH_TIMEOUT = 20.0
SPECIAL = re.compile(
    r"^(rename |copy |old mode |new mode |new file mode (?!100644|100755)|GIT binary patch)", re.M
)
"""What a patch may not do: rename, change modes, make links, carry bytes that cannot be read."""


@dataclass(frozen=True)
class Editor:
    """Edits a tree; what it may touch and run is fixed beforehand."""

    desk: Desk
    workspace: Workspace
    files: tuple[str, ...]
    """The plan's target files; empty where the plan does not say."""
    commands: dict[str, str]
    """What may be run: the name it is asked for by -> the command."""
    until: float
    """When the whole answer must be there, by the monotonic clock."""

    def replace(self, path: str, old: str, new: str) -> str:
        """Replace a piece of a file that occurs in it exactly once.

        Args:
            path: Path from the root of the repository.
            old: The text to replace, as it stands in the file, with enough around it to be unique.
            new: What stands there instead.
        """
        place = self._writable(path)
        text = self.desk.data(path).decode("utf-8", "surrogateescape")
        if "\r\n" in text and "\r" not in old:
            old, new = old.replace("\n", "\r\n"), new.replace("\n", "\r\n")
        count = text.count(old) if old else 0
        if count != 1:
            how = "does not occur" if count == 0 else f"occurs {count} times"
            raise RefusedError(f"nothing changed: `old` {how} in {path}; read it again")
        _write(place, text.replace(old, new))
        return f"{path} is changed"

    def write(self, path: str, content: str) -> str:
        """Write a whole file; one that is there is replaced.

        Args:
            path: Path from the root of the repository.
            content: Everything the file is to hold.
        """
        place = self._writable(path)
        if place.is_dir():
            raise RefusedError(f"{path} is a folder")
        place.parent.mkdir(parents=True, exist_ok=True)
        _write(place, content)
        return f"{path} is written, {len(content.splitlines())} lines"

    def apply_patch(self, patch: str) -> str:
        """Apply a unified diff, all of it or nothing.

        Args:
            patch: A diff as `git diff` prints it, its paths from the root of the repository.
        """
        if SPECIAL.search(patch):
            raise RefusedError("a patch here changes, adds and deletes text files, nothing else")
        paths = sorted(_touched(self._git_apply("--numstat", "-z", patch=patch)))
        if not paths:
            raise RefusedError("the patch names no file")
        for path in paths:
            self._writable(path)
        self._git_apply(patch=patch)
        return f"changed: {', '.join(paths)}"

    def run(self, command: str) -> str:
        """Run one of the allowed commands on the tree as it stands and read what it prints.

        What it writes is thrown away again. Without network, and within a time limit.

        Args:
            command: One of the allowed commands, or the name of a guard.
        """
        asked = self.commands.get(command.strip())
        if asked is None:
            allowed = ", ".join(f"`{name}`" for name in self.commands) or "none"
            raise RefusedError(f"only these may be run: {allowed}")
        with self._throw_away() as tree:
            job = Job(
                command=asked,
                tree=tree,
                profile="guard",
                timeout=max(LEAST_RUN, min(RUN_TIMEOUT, self.until - time.monotonic())),
                output_cap=2 * CHARACTERS,
            )
            outcome = self.workspace.room.run(job)
        self.workspace.stop.raise_if_set()
        how = "timed out" if outcome.timed_out else f"exit code {outcome.exit_code}"
        said = (outcome.stdout + b"\n" + outcome.stderr).decode("utf-8", "replace").strip()
        return f"{how}\n{capped(said)}".rstrip()

    def _writable(self, path: str) -> Path:
        place = self.desk.place(path)
        clean = place.relative_to(self.desk.tree).as_posix()
        if self.files and clean not in self.files:
            raise RefusedError(f"{path} is not among the plan's files: {', '.join(self.files)}")
        for part in (place, *place.parents):
            if part == self.desk.tree:
                break
            if part.is_symlink():
                raise RefusedError(f"{path} is a link, or lies below one: it is left as it is")
        return place

    def _git_apply(self, *options: str, patch: str) -> bytes:
        env = {name: value for name, value in base_env().items() if not name.startswith("GIT_")}
        env |= {
            "GIT_CEILING_DIRECTORIES": str(self.desk.tree.parent),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        text = patch if patch.endswith("\n") else f"{patch}\n"
        argv = ("git", "apply", "--recount", "--whitespace=nowarn", *options, "-")
        data = text.encode("utf-8", "surrogatepass")
        child = Child(argv, self.desk.tree, env, PATCH_TIMEOUT, stdin=data)
        outcome = run_child(child, self.workspace.stop)
        self.workspace.stop.raise_if_set()
        if outcome.exit_code != 0:
            said = outcome.error or outcome.stderr.decode("utf-8", "replace").strip()
            raise RefusedError(f"nothing changed: {said}"[:2000])
        return outcome.stdout

    @contextmanager
    def _throw_away(self) -> Iterator[Path | Layered]:
        """The tree with a layer over it that is thrown away, so that no run leaves files in it."""
        tree = self.desk.tree
        folder = Path(tempfile.mkdtemp(prefix="run-", dir=tree.parent))
        try:
            if self.workspace.room.probe.overlay:
                layers = Layered((tree,), folder / "up", folder / "work")
                layers.upper.mkdir()
                layers.work.mkdir()
                yield layers
            else:
                yield Path(shutil.copytree(tree, folder / "tree", symlinks=True))
        finally:
            remove_tree(folder)


def _write(place: Path, text: str) -> None:
    try:
        place.write_bytes(text.encode("utf-8", "surrogateescape"))
    except (OSError, UnicodeEncodeError) as error:
        raise RefusedError(f"{place.name} could not be written: {error}") from None


def _touched(numstat: bytes) -> Iterator[str]:
    """The paths of `git apply --numstat -z`."""
    for row in numstat.split(b"\0"):
        if row:
            yield PurePosixPath(os.fsdecode(row.split(b"\t", 2)[2])).as_posix()
