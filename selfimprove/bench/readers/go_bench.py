"""The output of `go test -bench`: the median over `-count` repeats of every figure of a line.

`BenchmarkSort-8  1000  1234 ns/op  56 B/op  7 allocs/op` gives `BenchmarkSort` (the ns/op),
`BenchmarkSort B/op` and `BenchmarkSort allocs/op`.
"""

from __future__ import annotations

import re

from selfimprove.bench.stats import median
from selfimprove.bench.strict import ScoreError, number, shown

_LINE = re.compile(r"(Benchmark\S*?)(?:-[0-9]+)?\s+([0-9]+)\s+(\S.*)")
_TIME = "ns/op"


def read(report: bytes) -> dict[str, float]:
    """Each benchmark's figures; ns/op stands under the plain name."""
    samples: dict[str, list[float]] = {}
    for line in report.decode("utf-8", "replace").split("\n"):
        found = _LINE.fullmatch(line.strip())
        if found:
            for name, value in _figures(found[1], found[3].split()):
                samples.setdefault(name, []).append(value)
    if not samples:
        raise ScoreError("no line of the output is a Go benchmark", "run `go test -bench=.`")
    return {name: median(values) for name, values in samples.items()}


def _figures(name: str, words: list[str]) -> list[tuple[str, float]]:
    figures = []
    for text, unit in zip(words[::2], words[1::2], strict=False):
        value = number(text)
        if unit == _TIME and value <= 0:
            raise ScoreError(f"{shown(name)} took {text} ns/op", "times must be above zero")
        figures.append((name if unit == _TIME else f"{name} {unit}", value))
    return figures
