from __future__ import annotations

import json
import time

import pytest

from selfimprove.bench.formats import ScoreError, read_score


def read(fmt: str, report: object, primary: str = "", exit_code: int = 0):
    text = report if isinstance(report, str) else json.dumps(report)
    return read_score(fmt, b"", text.encode(), exit_code, primary)


def test_hyperfine_medians_the_raw_times():
    rows = [
        {"command": "a", "mean": 9, "times": [1.0, 2.0, 30.0], "exit_codes": [0, 0, 0]},
        {"command": "b", "mean": 9, "times": [4.0]},
    ]
    score = read("hyperfine", {"results": rows}, "a")
    assert (score.value, score.sub_scores) == (2.0, {"b": 4.0})
    assert read("hyperfine", {"results": rows}, "geomean(*)").value == pytest.approx(8**0.5)
    with pytest.raises(ScoreError, match="'a', 'b'"):
        read("hyperfine", {"results": rows})
    rows[0]["exit_codes"] = [0, 1, 0]
    with pytest.raises(ScoreError, match="failed"):
        read("hyperfine", {"results": rows}, "a")


def test_pytest_benchmark_medians_the_rounds_or_takes_the_median():
    rows = [
        {"fullname": "t.py::a", "stats": {"data": [3.0, 1.0, 2.0], "median": 9.0}},
        {"fullname": "t.py::b", "stats": {"median": 5.0}},
    ]
    score = read("pytest-benchmark", {"benchmarks": rows}, "t.py::a")
    assert (score.value, score.sub_scores) == (2.0, {"t.py::b": 5.0})
    assert score.keys == {"t.py::a", "t.py::b"}
    with pytest.raises(ScoreError, match="twice"):
        read("pytest-benchmark", {"benchmarks": [rows[0], rows[0]]}, "t.py::a")


def test_pyperf_leaves_calibration_out():
    runs = [
        {"metadata": {"calibrate_loops": 4}, "warmups": [[1, 9.0]]},
        {"values": [1.0, 3.0], "warmups": [[1, 50.0]]},
        {"values": [2.0]},
    ]
    report = {"metadata": {"name": "sort"}, "benchmarks": [{"runs": runs}], "version": "1.0"}
    assert read("pyperf", report).value == 2.0
    assert read("pyperf", report).primary == "sort"


def test_go_medians_repeats_and_keeps_other_units():
    text = (
        "goos: linux\nBenchmarkSort-8   \t 1000\t  1200 ns/op\t 56 B/op\t 7 allocs/op\n"
        "BenchmarkSort-8 1000 1000 ns/op 56 B/op 7 allocs/op\n"
        "BenchmarkSort-8 1000 5000 ns/op 56 B/op 7 allocs/op\nPASS\n"
    )
    score = read("go-bench", text, "BenchmarkSort")
    assert score.value == 1200
    assert score.sub_scores == {"BenchmarkSort B/op": 56, "BenchmarkSort allocs/op": 7}


def test_criterion_reads_samples_or_text():
    row = {
        "reason": "benchmark-complete",
        "id": "fib/20",
        "unit": "us",
        "iteration_count": [1, 2, 3],
        "measured_values": [2.0, 4.0, 60.0],
    }
    score = read("criterion", '{"reason": "group-start"}\n' + json.dumps(row) + "\n")
    assert (score.value, score.primary) == (2000.0, "fib/20")
    text = (
        "fib 20                  time:   [26.029 µs 26.251 µs 26.505 µs]\n"
        "                        change: [-1% +0% +1%]\n"
        "a very long name of a benchmark\n"
        "                        time:   [1.0 ms 2.0 ms 3.0 ms]\n"
    )
    score = read("criterion", text, "fib 20")
    assert score.value == pytest.approx(26251)
    assert score.sub_scores == {"a very long name of a benchmark": 2e6}


@pytest.mark.parametrize(
    ("fmt", "line"),
    [
        ("criterion", "a" + " " * 300_000),
        ("criterion", "a " * 100_000 + "time:"),
        ("criterion", "a time:" + " " * 300_000),
        ("criterion", " time: [" * 50_000),
        ("criterion", "a time: [a a a " * 30_000),
        ("go-bench", "Benchmark" + "-1" * 100_000),
        ("go-bench", "Benchmark" + " " * 300_000 + "x"),
        ("go-bench", "Benchmark 1" + " " * 300_000 + "x y"),
        ("go-bench", "Benchmark-" + "1" * 300_000 + " x"),
    ],
)
def test_no_line_takes_time_beyond_its_length(fmt: str, line: str) -> None:
    began = time.process_time()
    with pytest.raises(ScoreError):
        read(fmt, line)
    assert time.process_time() - began < 3  # hundredths; minutes where a search is quadratic


JUNIT = """<?xml version="1.0"?><testsuites><testsuite tests="99" failures="0">
<testcase name="a" time="0.5"/><testcase name="b" time="0.25"><failure>no</failure></testcase>
<testcase name="c"><skipped/></testcase></testsuite></testsuites>"""


def test_junit_counts_the_cases_and_not_the_summary():
    score = read("junit", JUNIT, exit_code=1)
    assert score.value == 1
    assert score.sub_scores["tests"] == 3
    assert read("junit", JUNIT, "time", exit_code=1).value == 0.75
    with pytest.raises(ScoreError, match="not whole"):
        read("junit", JUNIT.replace("<failure>no</failure>", ""), exit_code=2)
    with pytest.raises(ScoreError, match="entities"):
        read("junit", '<!DOCTYPE a [<!ENTITY b "c">]>' + JUNIT[21:])


@pytest.mark.parametrize(
    ("fmt", "report"),
    [
        ("hyperfine", {"results": []}),
        ("hyperfine", {"results": [{"command": "a", "times": [0.0]}]}),
        ("hyperfine", {"results": [{"command": "a", "times": ["1"]}]}),
        ("hyperfine", '{"results": [{"command": "a", "times": [NaN]}]}'),
        ("pytest-benchmark", {"benchmarks": [{"fullname": "a", "stats": {}}]}),
        ("pyperf", {"benchmarks": [{"runs": [{}]}]}),
        ("go-bench", "PASS"),
        ("go-bench", "BenchmarkA 1 0 ns/op"),
        ("criterion", "nothing"),
        ("junit", "<testsuites/>"),
        ("junit", "<testsuites"),
        ("junit", "   "),
    ],
)
def test_a_report_without_honest_samples_is_refused(fmt: str, report: object):
    with pytest.raises(ScoreError):
        read(fmt, report)
