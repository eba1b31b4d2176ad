"""Finds skills/ and templates/: inside the installed package, or beside it in a checkout."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from selfimprove.errors import ToolError


def folder(name: str) -> Path:
    """The directory `skills` or `templates`."""
    package = files("selfimprove")
    for place in (package, _parent(package)):
        found = place / name
        if isinstance(found, Path) and found.is_dir():
            return found
    raise ToolError(
        f"the folder {name}/ is not beside or inside the package", "install selfimprove again"
    )


def text(path: str) -> str:
    """A text file by its path below skills/ or templates/: `templates/goal.md`."""
    name, _, rest = path.partition("/")
    file = folder(name) / rest
    if not file.is_file():
        raise ToolError(f"the installation lacks {path}", "install selfimprove again")
    return file.read_text(encoding="utf-8")


def _parent(package: Traversable) -> Traversable:
    return package.parent if isinstance(package, Path) else package
