from __future__ import annotations

import pytest

from selfimprove.setup.guess import direction_of, format_of_output, printed_metric


@pytest.mark.parametrize(
    ("name", "better"),
    [
        ("p95_ms", "lower_is_better"),
        ("total_time", "lower_is_better"),
        ("ops_per_s", "higher_is_better"),
        ("accuracy", "higher_is_better"),
        ("x", None),
    ],
)
def test_direction_of(name: str, better: str | None) -> None:
    assert direction_of(name) == better


@pytest.mark.parametrize(
    ("printed", "meant"),
    [
        ('warming up\n{"ms": 3.2, "ok": true, "n": 4}\n', ("json", ["ms", "n"])),
        ("12.5\n", ("number", [])),
        ("BenchmarkSort-8 \t 100\t 12.5 ns/op\n", ("go-bench", [])),
        ("sort  time:   [1.0 ns 2.0 ns 3.0 ns]\n", ("criterion", [])),
        ("1\n2\n", ("", [])),
        ("done", ("", [])),
    ],
)
def test_format_of_output(printed: str, meant: tuple[str, list[str]]) -> None:
    assert format_of_output(printed) == meant


def test_printed_metric_of_odd_sources() -> None:
    assert printed_metric("json.dumps(x)") == ""
    assert printed_metric("not python (") == ""
    assert printed_metric("import json\njson.dump({'a': 1}, f)") == "a"
