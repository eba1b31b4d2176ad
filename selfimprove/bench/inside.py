"""Benchmarks that run the candidate inside their own Python process, and what is told of them.

Nothing outside can wholly defend such a process. The bootstrap runs the benchmark's main script and
reports through a descriptor that it came to its end, which files it had loaded, and which functions
were not the ones they should be; what the baseline reports is right by definition.
"""

from __future__ import annotations

import posixpath
import re
import secrets
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from selfimprove.bench.bootstrap import SEPARATORS
from selfimprove.contracts.benchmark import Disqualification, HowRun, Inside

_PYTHON = re.compile(
    r"(?:^|(?<=[\s/]))python[\d.]*(?:\s+-[bBdEiIOPqRsSuvx]+|\s+-[XW]\s*[\w:.=]+)*\s+"
    r"(?=(?:-m\s+[\w.]+|[\w./-]+\.py)(?:\s|$))"
)
"""An interpreter with its options, before the script or the module that it runs."""
TESTING = frozenset({"junit", "pytest-benchmark", "go-bench", "criterion"})
"""Formats of tools that load what they test into their own process."""
CUT_SHORT, PATCHED, CHANGED = "benchmark_cut_short", "runtime_patched", "result_changed"


@dataclass(frozen=True)
class Told:
    """What one run's bootstrap reported."""

    ended: str
    """`end`, `exit` or `raised`."""
    by: tuple[str, ...]
    """The files of the tree through which it was ended, where an exception did it."""
    result: str
    """SHA-256 of the result file at that moment; empty where there was none."""
    files: tuple[str, ...]
    patched: tuple[str, ...]
    searched: tuple[str, ...] = ()


def bootstrapped(command: str) -> str:
    """The command with its one Python script run by the bootstrap; empty where there is none."""
    found = list(_PYTHON.finditer(command))
    if len(found) != 1:
        return ""
    at = found[0].end()
    result = "{result}" if "{result}" in command else "-"
    return f"{command[:at]}{{program}} {{report}} {result} {command[at:]}"


@cache
def _text() -> str:
    return Path(__file__).with_name("bootstrap.py").read_text(encoding="utf-8")


def program(nonce: str) -> bytes:
    """What the interpreter is given to run; nothing of it is left in the script's own names."""
    names = f"{{'__name__': 'bootstrap', 'NONCE': {nonce!r}}}"
    start = "\nbegin(int(__import__('sys').argv.pop(1)), NONCE)\n"
    return f"exec(compile({_text() + start!r}, 'bootstrap', 'exec'), {names})".encode()


def new_nonce() -> str:
    """What a run's report begins with."""
    return secrets.token_bytes(16).hex()


def read_report(report: bytes, nonce: str) -> Told | None:
    """The one report of a run; None where there is none, or where it is not the bootstrap's."""
    parts = report.decode("utf-8", "replace").split(SEPARATORS[0])
    if len(parts) != 7 or parts[0] != nonce:
        return None
    by, *rows = (tuple(filter(None, parts[at].split(SEPARATORS[1]))) for at in (2, 4, 5, 6))
    return Told(parts[1], by, parts[3], *rows)


def learnt(told: Told, result: bytes | None) -> Inside:
    """What a baseline run's report says of runs to come."""
    lists = {"files": told.files, "patched": told.patched, "searched": told.searched}
    if told.ended == "exit":
        lists["ended_by"] = told.by
    return Inside(
        **{name: sorted(each) for name, each in lists.items()}, writes_late=_changed(told, result)
    )


@dataclass(frozen=True)
class Trusted:
    """What of the tree a candidate cannot have written."""

    paths: Collection[str]
    prefix: str = ""

    def holds(self, path: str) -> bool:
        """Whether a path, as told from where the benchmark starts, is sealed."""
        return posixpath.normpath(posixpath.join(self.prefix, path)) in self.paths


def wrong_with(
    told: Told | None, result: bytes | None, known: Inside, trusted: Trusted
) -> Disqualification | None:
    """What a candidate did inside the benchmark's process that the baseline did not."""
    if told is None:
        return Disqualification(
            technique=CUT_SHORT, evidence="the benchmark's main script did not run to its end"
        )
    foreign = [each for each in told.by if each not in known.ended_by and not trusted.holds(each)]
    if told.ended == "exit" and foreign:
        evidence = f"the benchmark was ended by {foreign[-1]}, not by its own script"
        return Disqualification(technique=CUT_SHORT, evidence=evidence)
    new = [each for each in told.patched if each not in known.patched and _counts(each, trusted)]
    if new:
        named = ", ".join(each.partition("@")[0] for each in new[:5])
        evidence = f"when the benchmark ended these were not the ones it was written with: {named}"
        return Disqualification(technique=PATCHED, evidence=evidence)
    if not known.writes_late and _changed(told, result):
        evidence = "the result was written again after the benchmark's main script had ended"
        return Disqualification(technique=CHANGED, evidence=evidence)
    return None


def _changed(told: Told, result: bytes | None) -> bool:
    """Whether the result is another than when the main script had ended."""
    return bool(result) and told.result != sha256(result or b"").hexdigest()


def _counts(patched: str, trusted: Trusted) -> bool:
    """A module of the candidate's own may be as it likes."""
    _, _, file = patched.partition("@")
    return not file or trusted.holds(file)


def how_run(form: str, inside: Inside | None, in_scope: Callable[[str], bool]) -> HowRun:
    """Whether the benchmark runs the candidate in its own process, as far as it was seen to.

    `in_scope` takes a path as told from where the benchmark starts.
    """
    if inside is not None:
        return "in-process" if any(in_scope(path) for path in inside.files) else "apart"
    return "in-process" if form in TESTING else "unknown"


def run_in_words(how: HowRun, followed: bool) -> str:
    """The label as it is told to a person."""
    if how == "apart":
        return "apart: in a process of its own, as far as was seen"
    if how == "in-process":
        what = "known ways of abusing that are recognised" if followed else "nothing stops abuse"
        return f"in-process: it shares the benchmark's memory, {what}"
    if followed:
        return "in-process if it is imported: known ways of abusing that are recognised"
    return "perhaps in-process: whether it shares the benchmark's memory cannot be seen"
