"""Imports point only down; the table below is the order of the house."""

from __future__ import annotations

from graphlib import TopologicalSorter

from .source import PACKAGE, Import, imports, modules

# From the ground up. Rooms of one line do not know each other; each may use every line above it.
LAYERS = """
errors syntax
contracts
words names places expressions markdown resources deathwatch proctree redaction
outputs
ideas harness process
config goalfile
store vcs
room
bench
agents review
site publisher workshop safekeeping
deps
steps wiring
setup loop report
session
app
cli
__main__
"""
# Stands beside the house: it may use everything, and nothing uses it.
BESIDE = "testing"

LEVEL = {room: level for level, line in enumerate(LAYERS.split("\n")) for room in line.split()}

# Packages that one file alone may use, so that what they can do is done in one way.
KEPT_IN = {
    "git": {"selfimprove.vcs.git"},
    "subprocess": {
        "selfimprove.deathwatch",
        "selfimprove.process",
        "selfimprove.proctree",
        "selfimprove.vcs.git",
    },
    "multiprocessing": set(),
    "sqlite3": set(),
    "pickle": set(),
    "requests": set(),
    "urllib.request": set(),
}


def room(module: str) -> str:
    """The line of the table a module belongs to: its longest prefix there."""
    words = module.split(".")[1:]
    names = [".".join(words[: end + 1]) for end in range(len(words))]
    return next((name for name in reversed(names) if name in LEVEL), words[0])


def test_every_room_has_its_place() -> None:
    rooms = {room(name) for name in modules() if name != PACKAGE}
    assert rooms - {BESIDE} == set(LEVEL)


def test_imports_point_only_down() -> None:
    def points_down(item: Import) -> bool:
        here, there = room(item.module), room(item.target)
        return here == there or LEVEL[there] < LEVEL[here]

    inner = [
        item
        for item in imports()
        if item.target.startswith(f"{PACKAGE}.") and room(item.module) != BESIDE
    ]
    assert len(inner) > 100
    assert [str(item) for item in inner if room(item.target) == BESIDE] == []
    assert [str(item) for item in inner if not points_down(item)] == []


def test_no_module_needs_itself_to_be_imported() -> None:
    graph: dict[str, set[str]] = {name: set() for name in modules()}
    for item in imports():
        if item.at_start and item.target in graph and item.target != item.module:
            graph[item.module].add(item.target)
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


def test_what_is_kept_in_one_file_stays_there() -> None:
    strays = [
        str(item)
        for item in imports()
        for package, homes in KEPT_IN.items()
        if (item.target == package or item.target.startswith(f"{package}."))
        and item.module not in homes
    ]
    assert strays == []
