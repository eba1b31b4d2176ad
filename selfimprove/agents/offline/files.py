"""Which files of a tree may be changed, and their text."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any

from selfimprove.agents.offline.wordlist import words

LANGUAGES = {
    ".py": "python",
    ".c": "c",
    ".h": "cpp",
    ".cc": "cpp",
    ".cpp": "cpp",
    ".cxx": "cpp",
    ".hh": "cpp",
    ".hpp": "cpp",
    ".rs": "rust",
    ".go": "go",
    ".js": "javascript",
    ".mjs": "javascript",
    ".cjs": "javascript",
    ".jsx": "javascript",
    ".ts": "typescript",
    ".mts": "typescript",
    ".tsx": "tsx",
    ".json": "json",
    ".toml": "toml",
    ".yml": "yaml",
    ".yaml": "yaml",
    ".ini": "ini",
    ".cfg": "ini",
    ".conf": "ini",
    ".mk": "make",
    ".cmake": "make",
}
BY_NAME = {"Makefile": "make", "makefile": "make", "GNUmakefile": "make", "CMakeLists.txt": "make"}
SKIPPED_DIRS = words(
    """
    node_modules vendor third_party site-packages dist build target __pycache__ venv env
    """
)
SKIPPED_FILES = re.compile(
    r"(^|/)(package(-lock)?|composer|tsconfig.*|manifest)\.json$|\.lock$|\.min\.js$|lock\.ya?ml$"
    r"|(^|/)(setup|tox|pytest|mypy)\.(cfg|ini)$|(^|/)(pyproject|Cargo)\.toml$"
)
TESTS = re.compile(r"(^|/)(tests?|testing|spec)/|(^|/)(test_[^/]*|[^/]*_test|conftest|setup)\.\w+$")
MAX_FILES = 600
MAX_BYTES = 400_000
MAX_DATA_BYTES = 30_000


@dataclass(frozen=True)
class SourceFile:
    """One file as it stands in the tree."""

    path: str
    text: str
    language: str

    @cached_property
    def digest(self) -> str:
        """Tells one content from another."""
        return sha256(self.text.encode()).hexdigest()

    def line(self, number: int) -> str:
        """Give one line, from 1, without its surrounding white space."""
        lines = self.text.split("\n")
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""


def language_of(path: str) -> str | None:
    """Say what a path's name tells of its language."""
    name = PurePosixPath(path)
    return BY_NAME.get(name.name) or LANGUAGES.get(name.suffix.lower())


def read_source(tree: Path, path: str) -> SourceFile | None:
    """Read one file, or None where it is no text that could be edited by content."""
    language = language_of(path)
    full = tree / path
    if language is None or full.is_symlink() or not full.is_file():
        return None
    limit = MAX_DATA_BYTES if language in ("json", "toml", "yaml", "ini") else MAX_BYTES
    if full.stat().st_size > limit:
        return None
    try:
        text = full.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    lone_returns = "\r" in text.replace("\r\n", "")
    return None if lone_returns or "\0" in text else SourceFile(path, text, language)


def editable_paths(tree: Path, context: Mapping[str, Any]) -> list[str]:
    """Give the paths that may be changed: as told, else what the goal's scope leaves."""
    if isinstance(context.get("editable"), list):
        found = [path for path in context["editable"] if isinstance(path, str)]
    else:
        found = list(_in_scope(tree, context.get("goal") or {}))
    wanted = [path for path in found if language_of(path) and not SKIPPED_FILES.search(path)]
    kept = [path for path in wanted if not TESTS.search(path)]
    return sorted(kept)


def _in_scope(tree: Path, goal: Mapping[str, Any]) -> Iterator[str]:
    from pathspec import GitIgnoreSpec

    scope = goal.get("scope") or {}
    benchmark = goal.get("benchmark") or {}
    barred = [
        *scope.get("out_of_scope", ()),
        *scope.get("hidden", ()),
        *benchmark.get("sealed", ()),
    ]
    inside = GitIgnoreSpec.from_lines(_anchored(scope.get("in_scope") or ["*"]))
    outside = GitIgnoreSpec.from_lines(_anchored(barred))
    command = set(re.split(r"[\s'\"=]+", str(benchmark.get("command", ""))))
    for path in _walk(tree):
        named = path in command or f"./{path}" in command or path.lower() == "goal.md"
        if inside.match_file(path) and not outside.match_file(path) and not named:
            yield path


def _anchored(patterns: list[str]) -> list[str]:
    """A goal's paths count from the top, as gitignore patterns with a slash in front do."""
    return [p if p.startswith(("/", "*")) else f"/{p.removeprefix('./')}" for p in patterns]


def _walk(tree: Path) -> Iterator[str]:
    for folder, dirs, names in os.walk(tree):
        dirs[:] = sorted(d for d in dirs if d not in SKIPPED_DIRS and not d.startswith("."))
        base = Path(folder).relative_to(tree)
        for name in sorted(names):
            yield (base / name).as_posix()
