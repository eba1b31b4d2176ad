"""Where a Python benchmark spends its time: how to ask, and how to read the answer.

Every Python process of the command is profiled by a hook and writes plain JSON, so that nothing
that a candidate could have written is unpickled.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

RESULT = "{result}"
"""What the room replaces by the path of the result file."""
MAX_BYTES = 4 << 20
MAX_FUNCTIONS = 300
MAX_PROCESSES = 64

HOOK = """
import atexit, json, os, sys
_here = os.path.dirname(os.path.abspath(__file__))
_out, _top = os.environ.get("PROFILE_OUT"), os.environ.get("PROFILE_TOP")

def _start():
    import cProfile
    prof = cProfile.Profile()
    def save():
        prof.disable()
        prof.create_stats()
        rows, total = [], 0.0
        for (name, line, func), row in prof.stats.items():
            path = os.path.realpath(name) if name[:1] not in "<~" else ""
            total += row[2]
            if path.startswith(_top + os.sep):
                rows.append([os.path.relpath(path, _top), line, func, row[1], row[2], row[3]])
        rows.sort(key=lambda row: -row[5])
        found = json.dumps(dict(total=total, functions=rows[:300])) + chr(10)
        handle = os.open(_out, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(handle, found.encode())
        os.close(handle)
    atexit.register(save)
    try:
        prof.enable()
    except ValueError:
        atexit.unregister(save)

if _out and _top:
    _start()
sys.path[:] = [p for p in sys.path if os.path.abspath(p) != _here]
_me = sys.modules.pop("sitecustomize", None)
try:
    import sitecustomize
except ImportError:
    if _me is not None:
        sys.modules["sitecustomize"] = _me
"""
"""A `sitecustomize` that profiles every Python process of the benchmark, and then makes way."""


def profiled_command(command: str) -> str:
    """Turn a benchmark command into one whose Python processes write profiles to `{result}`."""
    return "\n".join(
        [
            "profile_hook=$(mktemp -d) || exit 1",
            "cat >\"$profile_hook/sitecustomize.py\" <<'END_OF_HOOK'",
            HOOK.strip(),
            "END_OF_HOOK",
            f"PROFILE_OUT={RESULT} PROFILE_TOP=$(pwd -P)",
            'PYTHONPATH="$profile_hook${PYTHONPATH:+:$PYTHONPATH}"',
            "export PROFILE_OUT PROFILE_TOP PYTHONPATH",
            command,
        ]
    )


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

    @property
    def weight(self) -> float:
        """One figure for both shares: what it calls counts less than what it does."""
        return max(self.own, 0.6 * self.cumulative)


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
        editable = context.get("editable")
        if isinstance(editable, list):  # time spent in the benchmark itself is nobody's to win
            found = [hot for hot in found if hot.file in set(editable)]
        return _profile(found)

    def document(self) -> dict[str, Any]:
        """Write it as plain JSON values, for a request's context."""
        return {
            "functions": [asdict(hot) for hot in self.functions],
            "files": dict(self.files),
        }

    def heat(self, path: str, symbols: tuple[str, ...]) -> float:
        """Say how hot a place is beside the hottest one; 0.05 to 1, 0.5 without a profile."""
        peak = max((hot.weight for hot in self.functions), default=0.0)
        return 0.5 if not peak else 0.05 + 0.95 * min(1.0, self.share(path, symbols) / peak)

    def share(self, path: str, symbols: tuple[str, ...]) -> float:
        """Say what part of all time is spent where a change would be felt."""
        if not self.functions:
            return 0.5
        wanted = {symbol.rsplit(".", 1)[-1] for symbol in symbols} - {""}
        near = [hot for hot in self.functions if hot.file == path and hot.function in wanted]
        if near:
            return max(hot.weight for hot in near)
        return (0.05 if wanted else 0.4) * self.files.get(path, 0.0)


def read_profile(data: bytes | None) -> Profile:
    """Read what the processes wrote, a line each; what does not fit counts for nothing."""
    total = 0.0
    merged: dict[tuple[str, int, str], list[float]] = {}
    for line in (data or b"")[:MAX_BYTES].splitlines()[:MAX_PROCESSES]:
        spent, rows = _process(line)
        total += spent
        for file, number, function, *figures in rows:
            held = merged.setdefault((file, number, function), [0.0, 0.0, 0.0])
            for place, figure in enumerate(figures):
                held[place] += figure
    found = [
        HotFunction(
            file, line, function, min(1.0, own / total), min(1.0, cumulative / total), int(calls)
        )
        for (file, line, function), (calls, own, cumulative) in merged.items()
    ]
    return _profile(found)


def _process(line: bytes) -> tuple[float, list[tuple[str, int, str, float, float, float]]]:
    """Check one process's line, which a candidate could have written."""
    try:
        document = json.loads(line)
        total = float(document["total"])
        rows = [
            (str(f)[:500], int(n), str(name)[:200], float(calls), float(own), float(cumulative))
            for f, n, name, calls, own, cumulative in document["functions"][:MAX_FUNCTIONS]
        ]
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return 0.0, []
    figures = [total, *(figure for row in rows for figure in row[3:])]
    sane = all(0 <= figure < 1e12 for figure in figures) and total > 0
    return (total, rows) if sane else (0.0, [])


def _hot(row: Any) -> HotFunction | None:
    try:
        file, function = str(row["file"])[:500], str(row["function"])[:200]
        line, calls = int(row["line"]), int(row.get("calls", 0))
        own, cumulative = float(row["own"]), float(row["cumulative"])
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
