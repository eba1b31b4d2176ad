"""Go: `go test -bench`, `go test`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from selfimprove.setup.proposal import Proposal, Site

_BENCHMARK = re.compile(r"^func (Benchmark\w+)\(\w+ \*testing\.B\)", re.MULTILINE)


def propose(site: Site) -> Iterator[Proposal]:
    """What a Go module offers."""
    if not site.has("go.mod"):
        return
    tests = site.matching("*_test.go")
    timed = [(file, name) for file in tests for name in _BENCHMARK.findall(site.text(file))]
    if timed:
        yield Proposal(
            "benchmark",
            "go test -run '^$' -bench . ./...",
            "go-bench",
            f"{timed[0][0]} holds {timed[0][1]}",
            timed[0][1] if len(timed) == 1 else "geomean(Benchmark*)",
            "lower_is_better",
            rank=1,
        )
    if tests:
        yield Proposal("guard", "go test ./...", why=f"{tests[0]} holds tests", rank=1)
    yield Proposal("deps", "go mod download", why="go.mod")
