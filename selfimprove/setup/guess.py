"""Guesses from a script's text or a run's output, for a person to correct; pure."""

from __future__ import annotations

import ast
import json
import re

from selfimprove.contracts.base import Direction
from selfimprove.syntax import UNPARSABLE, parse

_LOWER = frozenset(
    {"ms", "us", "ns", "s", "sec", "secs", "seconds", "time", "duration", "latency", "elapsed"}
    | {"bytes", "kb", "mb", "gb", "kib", "mib", "memory", "mem", "rss", "size", "loss", "error"}
    | {"errors", "cost", "misses", "allocs", "rmse", "mse", "mae", "p50", "p90", "p95", "p99"}
)
_HIGHER = frozenset(
    {"ops", "rps", "qps", "throughput", "accuracy", "score", "rate", "f1", "auc", "recall"}
    | {"precision", "hits", "passed", "coverage", "speed", "fps", "speedup", "ratio"}
)


def direction_of(metric: str) -> Direction | None:
    """What the name of a metric says about which way is better."""
    words = set(re.split(r"[^a-z0-9]+", metric.lower()))
    if "per" in words or words & _HIGHER:
        return "higher_is_better"
    return "lower_is_better" if words & _LOWER else None


def printed_metric(source: str) -> str:
    """The first key of a dict literal that a Python script dumps as JSON; empty if none."""
    try:
        tree = parse(source)
    except UNPARSABLE:
        return ""
    dicts = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("json.dumps", "json.dump"):
            for argument in node.args[:1]:
                dumped = dicts.get(argument.id) if isinstance(argument, ast.Name) else argument
                if isinstance(dumped, ast.Dict):
                    return _best_key(dumped)
    return ""


def _best_key(dumped: ast.Dict) -> str:
    """The first key that looks like a measure, else the first."""
    names = [key.value for key in dumped.keys if isinstance(key, ast.Constant)]
    keys = [name for name in names if isinstance(name, str)]
    return next((key for key in keys if direction_of(key)), keys[0] if keys else "")


def format_of_script(text: str) -> str:
    """The format that a script's text points to; `json` where it says nothing."""
    for mark, name in (
        ("hyperfine", "hyperfine"),
        ("--benchmark-json", "pytest-benchmark"),
        ("pyperf", "pyperf"),
        ("cargo bench", "criterion"),
        ("-bench", "go-bench"),
    ):
        if mark in text:
            return name
    return "json"


def format_of_output(stdout: str) -> tuple[str, list[str]]:
    """`(format, names of its numbers)` of what a benchmark printed; ("", []) if none fits."""
    lines = [line.strip() for line in stdout.splitlines() if line.strip()]
    objects = [found for line in lines if (found := _numbers(line))]
    if len(objects) == 1:
        return "json", objects[0]
    if sum(bool(re.fullmatch(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", line)) for line in lines) == 1:
        return "number", []
    if any(re.match(r"Benchmark\S+\s+\d+\s+\S+ ns/op", line) for line in lines):
        return "go-bench", []
    if any(re.search(r"time:\s+\[\S+ \S+ \S+ \S+ \S+ \S+\]", line) for line in lines):
        return "criterion", []
    return "", []


def _numbers(line: str) -> list[str]:
    if not line.startswith("{"):
        return []
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return []
    if not isinstance(found, dict):
        return []
    return [key for key, value in found.items() if type(value) in (int, float)]
