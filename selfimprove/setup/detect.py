"""Finds a benchmark, a guard, the environment beside the code and a scope; runs nothing."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from selfimprove.setup.ecosystems import go, javascript, make, python, rust, shell
from selfimprove.setup.proposal import Kind, Proposal, Site

DETECTORS = (
    python.propose,
    rust.propose,
    go.propose,
    javascript.propose,
    make.propose,
    shell.propose,
)
_SOURCE = (".py", ".rs", ".go", ".js", ".ts", ".tsx", ".c", ".cc", ".cpp", ".h", ".hpp", ".java")
_NOT_SOURCE = frozenset(
    {"test", "tests", "doc", "docs", "bench", "benches", "benchmark", "benchmarks", "examples"}
    | {"scripts", "tools", "spec", "specs", "fixtures", "testdata", "__tests__"}
)


def detect(root: Path, which: Callable[[str], str | None] = shutil.which) -> list[Proposal]:
    """Everything found below a folder: of each kind, the likeliest first."""
    site = Site(root, which)
    found = [proposal for detector in DETECTORS for proposal in detector(site)]
    found += _scopes(site)
    unique: dict[tuple[str, str], Proposal] = {}
    for proposal in found:
        unique.setdefault((proposal.kind, proposal.command), proposal)
    return sorted(unique.values(), key=lambda proposal: proposal.rank)


def of_kind(proposals: list[Proposal], kind: Kind) -> list[Proposal]:
    """The proposals of one kind, order kept."""
    return [proposal for proposal in proposals if proposal.kind == kind]


def _scopes(site: Site) -> list[Proposal]:
    """The top folders that hold most of the source; the top itself where it lies loose."""
    counts: dict[str, int] = {}
    for file in site.files:
        path = PurePosixPath(file)
        folder = path.parts[0] if len(path.parts) > 1 else ""
        if path.suffix in _SOURCE and folder not in _NOT_SOURCE and not _is_test(path.name):
            counts[folder] = counts.get(folder, 0) + 1
    folders = sorted((name for name in counts if name), key=lambda name: (-counts[name], name))
    if folders:
        return [
            Proposal("scope", f"{name}/", why=f"{counts[name]} source files", rank=4 + position)
            for position, name in enumerate(folders[:3])
        ]
    loose = [f for f in site.matching(*(f"*{end}" for end in _SOURCE)) if "/" not in f]
    kept = [name for name in loose if not _is_test(name)]
    return [Proposal("scope", name, why="a source file at the top") for name in kept[:5]]


def _is_test(name: str) -> bool:
    stem = name.lower()
    return stem.startswith(("test", "bench", "conftest", "setup.py", "noxfile")) or any(
        mark in stem for mark in ("_test.", ".test.", ".spec.", "_bench.", ".bench.")
    )
