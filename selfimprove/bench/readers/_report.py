"""What the readers share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from selfimprove.bench.stats import median
from selfimprove.bench.strict import ScoreError, lax_json_object, shown, strict_json


def json_report(tool: str, report: bytes) -> dict[str, Any]:
    """The one JSON object in a report: the whole of it, or one line where it was printed."""
    text = report.decode("utf-8", "replace")
    if lax_json_object(text) is None:
        lines = [line for line in text.split("\n") if lax_json_object(line) is not None]
        if len(lines) != 1:
            raise ScoreError(f"not a {tool} report", f"{len(lines)} JSON objects found, not one")
        text = lines[0]
    found = strict_json(text)
    assert isinstance(found, dict)
    return found


def of_samples(name: str, samples: object, tool: str) -> float:
    """The median of raw samples that must all be numbers above zero."""
    if not isinstance(samples, list) or not samples:
        raise ScoreError(f"{tool}: {shown(name)} has no samples", "the report is not whole")
    for sample in samples:
        if not isinstance(sample, float) or sample <= 0:
            raise ScoreError(
                f"{tool}: a sample of {shown(name)} is {shown(str(sample))}",
                "times must be numbers above zero",
            )
    return median(samples)


def add(values: dict[str, float], name: object, value: float, tool: str) -> None:
    """Put one benchmark's value under its name, which must be new."""
    if not isinstance(name, str) or not name:
        raise ScoreError(f"{tool}: a benchmark has no name", "the report is not whole")
    if name in values:
        raise ScoreError(f"{tool}: {shown(name)} is reported twice", "give each its own name")
    values[name] = value


def rows(report: Mapping[str, Any], key: str, tool: str) -> Sequence[dict[str, Any]]:
    """The list of objects under `key`, which must hold at least one."""
    found = report.get(key)
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise ScoreError(f"not a {tool} report", f"it has no list {key!r}")
    if not found:
        raise ScoreError(f"the {tool} report is empty", "no benchmark was run")
    return found
