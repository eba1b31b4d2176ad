"""The package as text: its modules, and what each imports."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
PACKAGE = "selfimprove"


@dataclass(frozen=True)
class Import:
    module: str
    target: str
    line: int
    at_start: bool
    """Carried out when the module is imported: not in a function, not for types alone."""

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.target}"


@cache
def parsed(path: Path) -> ast.Module:
    """A Python file, read by whatever rule asks for it first."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def modules() -> dict[str, ast.Module]:
    """Every module of the package, by its name."""
    found = {}
    for path in sorted((CHECKOUT / PACKAGE).rglob("*.py")):
        words = path.relative_to(CHECKOUT).with_suffix("").parts
        name = ".".join(words[:-1] if words[-1] == "__init__" else words)
        found[name] = parsed(path)
    return found


@cache
def imports() -> tuple[Import, ...]:
    """Every import of every module, those in functions and for types included."""
    return tuple(
        Import(name, target, node.lineno, at_start)
        for name, tree in modules().items()
        for node, at_start in _import_nodes(tree.body, True)
        for target in _targets(node)
    )


def _import_nodes(
    body: list[ast.stmt], at_start: bool
) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node, at_start
            continue
        inside = at_start and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            inside = False
        for blocks in ("body", "orelse", "finalbody"):
            yield from _import_nodes(getattr(node, blocks, []), inside)
        for part in [*getattr(node, "handlers", []), *getattr(node, "cases", [])]:
            yield from _import_nodes(part.body, inside)


def _targets(node: ast.Import | ast.ImportFrom) -> list[str]:
    """What is imported, down to the module where a name is one."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    assert node.level == 0, "imports are written out from the package's name"
    assert node.module is not None
    full = [f"{node.module}.{alias.name}" for alias in node.names]
    return [name if name in modules() else str(node.module) for name in full]


@cache
def tracked() -> tuple[Path, ...]:
    """The files that git tracks, and the new ones that it would; without git, none."""
    done = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
    )
    paths = [CHECKOUT / name for name in done.stdout.split("\0")[:-1]]
    return tuple(path for path in paths if path.is_file())
