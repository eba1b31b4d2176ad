"""Tunables of every language: found with their names, and set without touching anything else."""

from __future__ import annotations

import pytest

from selfimprove.agents.offline.edits import StaleEdit
from selfimprove.agents.offline.files import SourceFile
from selfimprove.agents.offline.scan import SOURCES
from selfimprove.agents.offline.sources.user_ideas import tunables_of
from selfimprove.agents.offline.tunables import set_value

PYTHON = '''\
"""Été."""
import zlib

CHUNK_SIZE = 4  # é: keep this
MODE = "linear"  # linear | binary
BUFFER = 64 * 1024
VERSION = 3
__slots__ = 2


class Tree:
    load_factor: int = 1_000

    def __init__(self):
        self.count = 0
        self.cache_size = 16

    def go(self, depth=3, *, fast=False):
        if MODE == "binary":
            pass
        return zlib.compress(self, level=9)
'''
FILES = [
    ("python", PYTHON, "CHUNK_SIZE", "4", ("16", "64")),
    ("python", PYTHON, "MODE", '"linear"', ('"binary"',)),
    ("python", PYTHON, "BUFFER", "64 * 1024", ("262144", "1048576")),
    ("python", PYTHON, "Tree.load_factor", "1_000", ("2000", "500")),
    ("python", PYTHON, "Tree.__init__.self.cache_size", "16", ("64", "256")),
    ("python", PYTHON, "Tree.go.depth", "3", ("6", "1")),
    ("python", PYTHON, "Tree.go.fast", "False", ("True",)),
    ("python", PYTHON, "Tree.go.compress.level", "9", ("18", "4")),
    ("json", '{"a": {"batch": 4, "é": [1]},\n "on": true}\n', "a.batch", "4", ("16", "64")),
    ("json", '{"a": {"batch": 4, "é": [1]},\n "on": true}\n', "on", "true", ("false",)),
    ("toml", "x = 3 # c\n[a.b]\nchunk = 1_000\n", "a.b.chunk", "1_000", ("4000", "16000")),
    ("yaml", "a:\n  batch: 3 # c\n  mode: linear\n", "a.batch", "3", ("12", "48")),
    ("yaml", "a:\n  batch: 3 # c\n  mode: linear\n", "a.mode", "linear", ("binary", "hash")),
    ("ini", "[x]\nworkers = 3\nfast: no\n", "x.workers", "3", ("6", "1")),
    ("ini", "[x]\nworkers = 3\nfast: no\n", "x.fast", "no", ("yes",)),
    ("make", "CFLAGS = -O0 -g\n", "-O", "-O0", ("-O2", "-O3")),
    ("c", "#define CHUNK 0x40 /* c */\n", "CHUNK", "0x40", ("256", "1024")),
    ("c", "static const int BLOCK = 4;\n", "BLOCK", "4", ("16", "64")),
    ("cpp", "constexpr int kBlock = 64u; // h\n", "kBlock", "64", ("256", "1024")),
    ("rust", "const BLOCK: usize = 1_024;\n", "BLOCK", "1_024", ("4096", "16384")),
    ("rust", "static DEBUG: bool = true;\n", "DEBUG", "true", ("false",)),
    ("go", "package a\nconst block = 4\n", "block", "4", ("16", "64")),
    ("javascript", "const CHUNK = 4; // c\n", "CHUNK", "4", ("16", "64")),
    ("javascript", "class A { static depth = 3; }\n", "depth", "3", ("6", "1")),
    ("typescript", "export const CHUNK: number = 4;\n", "CHUNK", "4", ("16", "64")),
]


@pytest.mark.parametrize(("language", "text", "name", "old", "first"), FILES)
def test_a_constant_is_found_and_set_and_nothing_else_changes(
    language: str, text: str, name: str, old: str, first: tuple[str, ...]
) -> None:
    file = SourceFile("some/file", text, language)
    sources = [source for source in SOURCES if language in source.LANGUAGES]
    ideas = [i for s in sources for i in s.find([file]) if i.tool == "tunable.set"]
    [idea] = [idea for idea in ideas if idea.name == name]
    assert (idea.old, idea.values[: len(first)]) == (old, first)
    new = set_value(text, tunables_of(file), {"name": name, "old": old, "new": idea.values[0]})
    start = next(i for i, (a, b) in enumerate(zip(text, new, strict=False)) if a != b)
    tail = len(text) - start - len(old) - 40
    assert new.count("\n") == text.count("\n")
    assert new[:start] == text[:start]
    assert tail <= 0 or new.endswith(text[-tail:])
    changed = [
        i for i, (a, b) in enumerate(zip(text.split("\n"), new.split("\n"), strict=True)) if a != b
    ]
    assert changed == [idea.line - 1]
    assert (
        new.split("\n")[changed[0]].replace(idea.values[0], old, 1) == text.split("\n")[changed[0]]
    )


def test_facts_counters_and_workloads_are_not_offered() -> None:
    file = SourceFile("m.py", PYTHON, "python")
    names = {i.name for s in SOURCES if "python" in s.LANGUAGES for i in s.find([file])}
    assert not names & {"VERSION", "__slots__", "Tree.__init__.self.count"}


def test_members_of_an_enum_are_left_alone() -> None:
    text = "class Cache(Enum):\n    SIZE = 4\n\n\nclass Plain:\n    SIZE = 4\n"
    assert [t.name for t in tunables_of(SourceFile("m.py", text, "python"))] == ["Plain.SIZE"]


def test_a_value_that_changed_meanwhile_is_not_overwritten() -> None:
    file = SourceFile("m.py", "CHUNK = 8\n", "python")
    with pytest.raises(StaleEdit, match="CHUNK is 8 now, not 4"):
        set_value(file.text, tunables_of(file), {"name": "CHUNK", "old": "4", "new": "16"})


def test_line_ends_of_windows_are_kept() -> None:
    file = SourceFile("m.py", "A = 1\r\nCHUNK = 8  # é\r\n", "python")
    new = set_value(file.text, tunables_of(file), {"name": "CHUNK", "old": "8", "new": "16"})
    assert new == "A = 1\r\nCHUNK = 16  # é\r\n"


def test_values_in_text_that_only_looks_like_toml_are_not_found() -> None:
    text = 'a = """\nchunk = 4\n"""\n'
    assert tunables_of(SourceFile("m.toml", text, "toml")) == ()
