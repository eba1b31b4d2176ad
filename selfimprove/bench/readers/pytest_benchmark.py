"""pytest-benchmark's `--benchmark-json={result}`: seconds, the median of each test's rounds."""

from __future__ import annotations

from selfimprove.bench.readers._report import add, json_report, of_samples, rows
from selfimprove.bench.strict import ScoreError, shown


def read(report: bytes) -> dict[str, float]:
    """Each benchmark's full name with its median in seconds."""
    values: dict[str, float] = {}
    for row in rows(json_report("pytest-benchmark", report), "benchmarks", "pytest-benchmark"):
        name = row.get("fullname") or row.get("name")
        stats = row.get("stats")
        if not isinstance(stats, dict):
            raise ScoreError(f"pytest-benchmark: {shown(str(name))} has no stats", "")
        # `data` is there by --benchmark-save-data or --benchmark-json; older ones hold `median`.
        samples = stats.get("data") or [stats.get("median")]
        add(values, name, of_samples(str(name), samples, "pytest-benchmark"), "pytest-benchmark")
    return values
