"""Where a Python benchmark spends its time: how to ask, and how to read the answer.

The command is run under a small driver that profiles it and writes plain JSON, so that nothing
of what a candidate could have written is unpickled.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

RESULT = "{result}"
"""What the room replaces by the path of the result file."""
MAX_BYTES = 4 << 20
MAX_FUNCTIONS = 300

DRIVER = """
import sys, os, json, cProfile, runpy
out, top = sys.argv[1], os.path.realpath(os.getcwd())
prof, rest = cProfile.Profile(), sys.argv[2:]
def save():
    prof.disable()
    prof.create_stats()
    rows, own = [], []
    for (name, line, func), row in prof.stats.items():
        path = os.path.realpath(name) if name[:1] not in "<~" else ""
        inside = path.startswith(top + os.sep)
        own.append(row[2])
        if inside:
            rows.append([os.path.relpath(path, top), line, func, row[1], row[2], row[3]])
    rows.sort(key=lambda row: -row[5])
    with open(out, "w") as file:
        json.dump({"total": sum(own), "functions": rows[:300]}, file)
try:
    if rest[0] == "-m":
        sys.argv, sys.path[0] = rest[1:], os.getcwd()
        prof.enable()
        runpy.run_module(rest[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv, sys.path[0] = rest, os.path.dirname(os.path.abspath(rest[0]))
        prof.enable()
        runpy.run_path(rest[0], run_name="__main__")
finally:
    save()
"""
_PYTHON = re.compile(
    r"(?P<before>^|&&|;|\||\s)(?P<python>(?:[^\s;&|'\"]*/)?python[\d.]*)"
    r"(?P<flags>(?:\s+-(?:[bBdEiIOqsSuvx]+|[XW]\s*\S+))*)\s+(?P<what>-m\s+[\w.]+|[^-\s'\"][^\s'\"]*\.py)"
)
_PYTEST = re.compile(r"^(?P<before>\s*)(?P<what>pytest)(?=\s|$)")


def profiled_command(command: str) -> str | None:
    """Turn a benchmark command into one that writes a profile to `{result}`, or give None.

    The first Python program of the command is the one that is profiled.
    """
    found = _PYTHON.search(command)
    driver = "'" + DRIVER.strip().replace("'", "'\\''") + "'"
    if found is not None:
        flags = f"{found['python']}{found['flags']}"
        new = f"{found['before']}{flags} -c {driver} {RESULT} {found['what']}"
        return command[: found.start()] + new + command[found.end() :]
    found = _PYTEST.search(command)
    if found is not None:
        return f"python -c {driver} {RESULT} -m pytest{command[found.end() :]}"
    return None


@dataclass(frozen=True)
class HotFunction:
    """One function of the target and its share of the whole time."""

    file: str
    line: int
    function: str
    own: float
    """Share spent in its own code, 0 to 1."""
    cumulative: float
    """Share spent in it and in what it calls."""
    calls: int = 0


@dataclass(frozen=True)
class Profile:
    """Hot functions and files; empty where nothing was profiled."""

    functions: tuple[HotFunction, ...] = ()
    files: Mapping[str, float] = field(default_factory=dict)

    @staticmethod
    def of(context: Mapping[str, Any]) -> Profile:
        """Read the profile of a request's context, as `document` wrote it."""
        given = context.get("profile")
        rows = given.get("functions") if isinstance(given, Mapping) else None
        found = [hot for row in rows or () if (hot := _hot(row)) is not None]
        return _profile(found)

    def document(self) -> dict[str, Any]:
        """Write it as plain JSON values, for a request's context."""
        return {
            "functions": [vars(hot) for hot in self.functions],
            "files": dict(self.files),
        }

    def heat(self, path: str, symbols: tuple[str, ...]) -> float:
        """Say how much of the time is spent where a change would be felt; 0.05 to 1."""
        if not self.functions:
            return 0.5
        wanted = {symbol.rsplit(".", 1)[-1] for symbol in symbols}
        here = [hot for hot in self.functions if hot.file == path]
        near = [hot for hot in here if hot.function in wanted]
        if near:
            return min(1.0, 0.05 + max(max(hot.own, 0.6 * hot.cumulative) for hot in near))
        share = self.files.get(path, 0.0)
        return min(1.0, 0.05 + (0.15 if wanted and wanted != {""} else 0.4) * share)


def read_profile(data: bytes | None) -> Profile:
    """Read what the driver wrote; anything else gives an empty profile."""
    if not data or len(data) > MAX_BYTES:
        return Profile()
    try:
        document = json.loads(data)
        total = float(document["total"])
        rows = list(document["functions"])[:MAX_FUNCTIONS]
    except (ValueError, KeyError, TypeError, RecursionError):
        return Profile()
    if not math.isfinite(total) or total <= 0:
        return Profile()
    found = []
    for row in rows:
        if isinstance(row, list) and len(row) == 6:
            names = ("file", "line", "function", "calls", "own", "cumulative")
            hot = _hot(dict(zip(names, row, strict=True)), total)
            found += [hot] if hot is not None else []
    return _profile(found)


def _hot(row: Any, total: float = 1.0) -> HotFunction | None:
    try:
        file, function = str(row["file"])[:500], str(row["function"])[:200]
        line, calls = int(row["line"]), int(row.get("calls", 0))
        own, cumulative = float(row["own"]) / total, float(row["cumulative"]) / total
    except (ValueError, KeyError, TypeError, OverflowError, AttributeError):
        return None
    if not all(0 <= share < math.inf for share in (own, cumulative)):
        return None
    return HotFunction(file, line, function, min(own, 1.0), min(cumulative, 1.0), calls)


def _profile(functions: list[HotFunction]) -> Profile:
    files: dict[str, float] = {}
    for hot in functions:
        files[hot.file] = min(1.0, files.get(hot.file, 0.0) + hot.own)
    ordered = sorted(functions, key=lambda hot: (-hot.own, hot.file, hot.line))
    return Profile(tuple(ordered), files)
