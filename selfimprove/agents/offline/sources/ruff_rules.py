"""Ruff's performance and modernisation rules, one rule in one function an idea.

Ruff is asked once for all files, as JSON: its findings carry their own edits, so that each can be
a change of its own. It reads nothing of the target's configuration.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from selfimprove.agents.offline.codemods import Codemod, idea_of
from selfimprove.agents.offline.edits import Splice, StaleEdit, split_lines
from selfimprove.agents.offline.files import SourceFile
from selfimprove.agents.offline.idea import ChangeIdea
from selfimprove.process import Child, base_env, run_child

NAME = "ruff"
LANGUAGES = frozenset({"python"})
SELECT = (
    "PERF,C4,FURB,SIM,UP,RUF005,RUF015,RUF017,RUF019,RUF046,RUF051,RUF056,RUF057,"
    "PLR6201,PLR1730,PLR1711,PLR6104,FLY,PIE810"
)
LEFT_OUT = frozenset({"SIM117", "SIM300", "SIM905", "UP009", "UP010", "UP035", "FURB189", "None"})
"""Rules that cannot make anything faster, or make it slower."""
TIMEOUT_S = 60.0
MAX_OUTPUT = 32 << 20


@dataclass(frozen=True)
class _Group:
    prior: float
    family: str
    why: str


_COMPREHENSION = "a comprehension is built by one bytecode instruction an item, a loop by a call"
GROUPS = (
    ("PERF4", _Group(0.6, "optimization", _COMPREHENSION)),
    ("PERF", _Group(0.4, "optimization", "the loop does work on every pass that it need not do")),
    ("PLR6201", _Group(0.5, "optimization", "a set answers membership without a scan")),
    ("FURB129", _Group(0.4, "data", "lines need not all be read before the first is used")),
    ("FURB192", _Group(0.7, "optimization", "the least of many is found without sorting them")),
    ("FURB", _Group(0.25, "optimization", "the library has a faster word for it")),
    ("C4", _Group(0.4, "optimization", "a list is built that is thrown away at once")),
    ("RUF005", _Group(0.2, "optimization", "fewer lists are built")),
    ("RUF015", _Group(0.45, "optimization", "one item is wanted, and all are collected")),
    ("RUF017", _Group(0.7, "optimization", "summing lists copies them again and again")),
    ("RUF", _Group(0.3, "optimization", "work is done that has no effect")),
    ("SIM110", _Group(0.2, "optimization", "any and all loop in C")),
    ("SIM118", _Group(0.3, "optimization", "no view of the keys need be made")),
    ("SIM401", _Group(0.35, "optimization", "one look-up does for two")),
    ("SIM", _Group(0.06, "other", "less code runs for the same effect")),
    ("UP", _Group(0.05, "other", "the newer spelling may be cheaper")),
    ("PLR1730", _Group(0.1, "optimization", "min and max run in C")),
    ("", _Group(0.1, "other", "the shorter form may be cheaper")),
)


def find(files: Sequence[SourceFile]) -> list[ChangeIdea]:
    """Give an idea for each rule in each function, and one for a rule in a whole file."""
    found: list[ChangeIdea] = []
    by_path = {file.path: file for file in files}
    for path, findings in _findings(files).items():
        for rule, mods in findings.items():
            found += _ideas(by_path[path], rule, mods)
    return found


def _ideas(file: SourceFile, rule: str, mods: list[Codemod]) -> Iterator[ChangeIdea]:
    by_symbol: dict[str, list[Codemod]] = {}
    for mod in mods:
        by_symbol.setdefault(mod.symbol, []).append(mod)
    groups = list(by_symbol.values())
    if len(groups) > 1:
        groups.insert(0, mods)
    for group in groups:
        first = group[0]
        whole = len({mod.symbol for mod in group}) > 1
        merged = Codemod(
            rule=rule,
            line=first.line,
            symbol="" if whole else first.symbol,
            family=first.family,
            prior=first.prior,
            title=first.title + (f" ({len(group)} places)" if len(group) > 1 else ""),
            why=first.why,
            splices=tuple(part for mod in group for part in mod.splices),
            users=tuple(dict.fromkeys(mod.symbol for mod in group if mod.symbol)),
            safe=all(mod.safe for mod in group),
        )
        try:
            idea = idea_of(file, merged)
        except StaleEdit:
            continue
        if idea is not None:
            yield idea


def _findings(files: Sequence[SourceFile]) -> dict[str, dict[str, list[Codemod]]]:
    if not files:
        return {}
    with tempfile.TemporaryDirectory(prefix="selfimprove-ruff-") as folder:
        top = Path(folder).resolve()
        names = {}
        for number, file in enumerate(files):
            # a name of our own: nothing of the target's names, links or settings can matter
            name = top / f"f{number}.py"
            name.write_bytes(file.text.encode())
            names[str(name)] = file
        rows = _run(top)
    found: dict[str, dict[str, list[Codemod]]] = {}
    for row in rows:
        source = names.get(str(row.get("filename")))
        mod = _codemod(source, row) if source is not None else None
        if source is not None and mod is not None:
            found.setdefault(source.path, {}).setdefault(mod.rule, []).append(mod)
    return found


def _run(top: Path) -> list[dict[str, Any]]:
    from ruff import find_ruff_bin  # type: ignore[import-untyped]

    argv = [find_ruff_bin(), "check", "--isolated", "--preview", "--no-cache", "--exit-zero"]
    argv += ["--quiet", "--output-format", "json", "--select", SELECT, "--target-version", "py311"]
    outcome = run_child(
        Child((*argv, str(top)), top, base_env(), timeout=TIMEOUT_S, output_cap=MAX_OUTPUT)
    )
    try:
        rows = json.loads(outcome.stdout)
    except ValueError:
        return []
    return [row for row in rows if isinstance(row, dict) and row.get("fix")]


def _codemod(file: SourceFile, row: dict[str, Any]) -> Codemod | None:
    fix, code = row["fix"], str(row.get("code"))
    if code in LEFT_OUT:
        return None
    starts = _starts(file.text)
    line = row["location"]["row"]
    group = _group(code)
    splices = [
        Splice(
            starts[edit["location"]["row"] - 1] + edit["location"]["column"] - 1,
            starts[edit["end_location"]["row"] - 1] + edit["end_location"]["column"] - 1,
            edit["content"],
        )
        for edit in fix["edits"]
    ]
    return Codemod(
        rule=f"ruff {code} {row.get('name', '')}".strip(),
        line=line,
        symbol=symbol_at(file.text, line),
        family=group.family,
        prior=group.prior,
        title=str(row.get("message", code)).rstrip("."),
        why=group.why,
        splices=tuple(splices),
        safe=fix.get("applicability") == "safe",
    )


@lru_cache(maxsize=256)
def _group(code: str) -> _Group:
    return next(group for prefix, group in GROUPS if code.startswith(prefix))


@lru_cache(maxsize=256)
def _starts(text: str) -> tuple[int, ...]:
    starts = [0]
    for line in split_lines(text):
        starts.append(starts[-1] + len(line))
    return (*starts, len(text))


def symbol_at(text: str, line: int) -> str:
    """Name the function that a line of a Python file stands in."""
    best, found = 0, ""
    for first, last, symbol in _symbols(text):
        if first <= line <= last and first >= best:
            best, found = first, symbol
    return found


@lru_cache(maxsize=256)
def _symbols(text: str) -> tuple[tuple[int, int, str], ...]:
    from selfimprove.agents.offline.pymodule import PyModule
    from selfimprove.syntax import UNPARSABLE

    try:
        module = PyModule(text)
    except UNPARSABLE:
        return ()
    return tuple(
        (node.lineno, node.end_lineno or node.lineno, module.symbol(node))
        for node in module.functions
    )
