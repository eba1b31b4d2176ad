"""pyperf's `-o {result}`: seconds, the median over all runs, calibration and warm-up left out."""

from __future__ import annotations

from typing import Any

from selfimprove.bench.readers._report import add, json_report, of_samples, rows


def read(report: bytes) -> dict[str, float]:
    """Each benchmark of a suite with its median in seconds."""
    suite = json_report("pyperf", report)
    common = _name(suite)
    values: dict[str, float] = {}
    for row in rows(suite, "benchmarks", "pyperf"):
        runs = rows(row, "runs", "pyperf")
        name = _name(row) or common or _name(runs[0])
        samples = [value for run in runs for value in run.get("values", [])]
        add(values, name, of_samples(name, samples, "pyperf"), "pyperf")
    return values


def _name(part: dict[str, Any]) -> str:
    metadata = part.get("metadata")
    return str(metadata.get("name", "")) if isinstance(metadata, dict) else ""
