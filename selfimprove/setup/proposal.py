"""What set-up proposes, and the repository it looks at."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Literal

from selfimprove.contracts.base import Direction

Kind = Literal["benchmark", "guard", "provide", "deps", "prepare", "prepare_cache", "scope"]

ENVIRONMENTS = frozenset({".venv", "venv", "env", "node_modules", ".pixi", "__pypackages__"})
BUILT = frozenset({"target", "build", "dist", "out", "vendor", "site-packages", "__pycache__"})
MAX_FILES = 20_000
MAX_BYTES = 256 * 1024


@dataclass(frozen=True)
class Proposal:
    """One thing set-up found; a person takes it or leaves it."""

    kind: Kind
    command: str
    """The command; for `provide`, `prepare_cache` and `scope` the path."""
    format: str = ""
    why: str = ""
    """What it was recognised by."""
    metric: str = ""
    direction: Direction | None = None
    rank: int = 5
    """Lower is likelier to be what is meant."""


@dataclass(frozen=True)
class Site:
    """A working tree as the detectors see it: its files, read with bounds and never run."""

    root: Path
    which: Callable[[str], str | None] = field(default=shutil.which, compare=False)

    @cached_property
    def files(self) -> tuple[str, ...]:
        """Paths of files below the root, environments and build output left out, sorted."""
        return tuple(sorted(self._walk()))

    def _walk(self) -> Iterator[str]:
        count = 0
        for folder, folders, names in os.walk(self.root):
            here = Path(folder)
            folders[:] = sorted(name for name in folders if _worth_a_look(here / name))
            for name in sorted(names):
                count += 1
                if count > MAX_FILES:
                    return
                yield (here / name).relative_to(self.root).as_posix()

    def matching(self, *globs: str) -> list[str]:
        """Files whose path or name fits a glob, shallow ones first."""
        found = [file for file in self.files if any(PurePosixPath(file).match(g) for g in globs)]
        return sorted(found, key=lambda file: (file.count("/"), file))

    def text(self, path: str) -> str:
        """A file's first 256 KiB, empty where there is none."""
        try:
            with (self.root / path).open("rb") as file:
                return file.read(MAX_BYTES).decode("utf-8", "replace")
        except OSError:
            return ""

    def has(self, path: str) -> bool:
        """Whether something stands there."""
        return (self.root / path).exists()


def _worth_a_look(folder: Path) -> bool:
    if folder.name.startswith(".") or folder.name in ENVIRONMENTS | BUILT or folder.is_symlink():
        return False
    return not (folder / "pyvenv.cfg").exists()
