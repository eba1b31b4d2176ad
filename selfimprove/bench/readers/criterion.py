"""Criterion (Rust): `cargo criterion --message-format=json`, or the text of `cargo bench`.

From JSON the median is taken over the raw samples (each divided by its iterations); the text
gives only the tool's own estimate. Either way in nanoseconds.
"""

from __future__ import annotations

import re
from typing import Any

from selfimprove.bench.readers._report import add, of_samples
from selfimprove.bench.strict import ScoreError, lax_json_object, number, shown, strict_json

_NANOSECONDS = {"ps": 1e-3, "ns": 1.0, "us": 1e3, "µs": 1e3, "μs": 1e3, "ms": 1e6, "s": 1e9}
_TIME = re.compile(r"(?<=\s)time:\s+\[\S+ \S+ (?P<value>\S+) (?P<unit>\S+) \S+ \S+\]")


def read(report: bytes) -> dict[str, float]:
    """Each benchmark's id with its time in nanoseconds."""
    lines = report.decode("utf-8", "replace").split("\n")
    values: dict[str, float] = {}
    for line in lines:
        found = lax_json_object(line)
        if found is not None and found.get("reason") == "benchmark-complete":
            _add_json(values, strict_json(line))
    if not values:
        _add_text(values, lines)
    if not values:
        raise ScoreError("no line of the output is a Criterion benchmark", "run `cargo bench`")
    return values


def _add_json(values: dict[str, float], row: dict[str, Any]) -> None:
    name, unit = str(row.get("id", "")), row.get("unit")
    counts, samples = row.get("iteration_count"), row.get("measured_values")
    if unit not in _NANOSECONDS or not isinstance(counts, list) or not isinstance(samples, list):
        raise ScoreError(f"criterion: {shown(name)} has no samples in a known unit", "")
    try:
        times = [
            sample * _NANOSECONDS[unit] / count
            for sample, count in zip(samples, counts, strict=True)
        ]
    except (TypeError, ValueError, ZeroDivisionError):
        raise ScoreError(f"criterion: the samples of {shown(name)} do not fit", "") from None
    add(values, name, of_samples(name, times, "criterion"), "criterion")


def _add_text(values: dict[str, float], lines: list[str]) -> None:
    above = ""
    for line in lines:
        found = _TIME.search(line)
        before = line[: found.start()] if found else ""
        if found and found["unit"] in _NANOSECONDS and not (before.strip() and before[0].isspace()):
            time = number(found["value"]) * _NANOSECONDS[found["unit"]]
            name = before.strip() or above
            add(values, name, of_samples(name, [time], "criterion"), "criterion")
        elif line.strip() and not line.startswith(" "):
            above = line.strip()  # a long name stands on a line of its own
