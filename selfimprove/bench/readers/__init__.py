"""Reports of measuring tools, one reader a file: bytes -> {benchmark: score}.

Where a report holds raw samples, the median is taken here and not believed from the tool's own
summary. Readers are imported when a report is read, never before.
"""

from __future__ import annotations

from importlib import import_module

READERS = {
    "hyperfine": "hyperfine",
    "pytest-benchmark": "pytest_benchmark",
    "pyperf": "pyperf",
    "go-bench": "go_bench",
    "criterion": "criterion",
    "junit": "junit",
}
DEFAULT_PRIMARY = {"junit": "passed"}
"""What counts where the metric's own name is not in a report."""


def read(tool: str, report: bytes) -> dict[str, float]:
    """Every benchmark of a tool's report with its aggregated value; raises ScoreError."""
    values: dict[str, float] = import_module(f"{__name__}.{READERS[tool]}").read(report)
    return values
