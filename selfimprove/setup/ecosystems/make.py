"""Makefile and justfile: targets named bench and test."""

from __future__ import annotations

import re
from collections.abc import Iterator

from selfimprove.setup.guess import format_of_script
from selfimprove.setup.proposal import Proposal, Site

_FILES = {
    "GNUmakefile": "make -s", "makefile": "make -s", "Makefile": "make -s",
    "justfile": "just -q", "Justfile": "just -q", ".justfile": "just -q",
}  # fmt: skip
_BENCH = ("bench", "benchmark", "benchmarks", "perf")
_TEST = ("test", "tests", "check")
_RULE = re.compile(
    r"^@?(?P<names>[\w .-]+?)\s*:(?![=:])(?P<body>.*(?:\n(?:[ \t].*|$))*)", re.MULTILINE
)


def propose(site: Site) -> Iterator[Proposal]:
    """What a file of targets offers."""
    listed = set(site.files)
    for file, run in _FILES.items():
        if file not in listed:
            continue
        bodies = _targets(site.text(file))
        for target in _BENCH:
            if target in bodies:
                yield Proposal(
                    "benchmark",
                    f"{run} {target}",
                    format_of_script(bodies[target]),
                    f"{file} has the target {target!r}",
                    rank=2,
                )
        for position, target in enumerate(name for name in _TEST if name in bodies):
            why = f"{file} has the target {target!r}"
            yield Proposal("guard", f"{run} {target}", why=why, rank=3 + position)


def _targets(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for rule in _RULE.finditer(text):
        for name in rule["names"].split():
            found[name] = rule["body"]
    return found
