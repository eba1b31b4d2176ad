"""hyperfine's `--export-json {result}`: seconds, the median of each command's `times`."""

from __future__ import annotations

from selfimprove.bench.readers._report import add, json_report, of_samples, rows
from selfimprove.bench.strict import ScoreError, shown


def read(report: bytes) -> dict[str, float]:
    """Each command (or its `--command-name`) with its median in seconds."""
    values: dict[str, float] = {}
    for row in rows(json_report("hyperfine", report), "results", "hyperfine"):
        name = str(row.get("command", ""))
        codes = row.get("exit_codes")
        if isinstance(codes, list) and any(code not in (0.0, None) for code in codes):
            raise ScoreError(f"hyperfine: {shown(name)} failed in a run", "its times do not count")
        add(values, name, of_samples(name, row.get("times"), "hyperfine"), "hyperfine")
    return values
