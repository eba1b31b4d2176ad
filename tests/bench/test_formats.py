from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfimprove.bench.formats import (
    KeysChanged,
    ScoreError,
    check_keys,
    check_mentions,
    exit_is_score,
    mentions,
    read_score,
    supported,
)
from selfimprove.contracts.settings import FORMATS
from selfimprove.errors import ConfigError


def from_json(stdout: str, primary: str = "ms", result: str | None = None):
    return read_score("json", stdout.encode(), result.encode() if result else None, 0, primary)


def test_json_takes_the_one_line_with_the_metric_and_its_neighbours():
    score = from_json('warming up\n{"ms": 12.5, "ops": 3, "sub_scores": {"p99": 20}}\ndone\n')
    assert score.value == 12.5
    assert score.sub_scores == {"ops": 3.0, "p99": 20.0}
    assert score.keys == {"/ms", "/ops", "/sub_scores", "/sub_scores/p99"}


@pytest.mark.parametrize(
    ("stdout", "says"),
    [
        ("", "holds no score"),
        ("all good\n", "holds no score"),
        ('{"ms": 1}\n{"ms": 2}\n', "holds 2 scores"),
        ('{"ms": 1}\n{"ms": NaN}\n', "holds 2 scores"),
        ('{"ms": NaN}', "NaN is not a number"),
        ('{"ms": -Infinity}', "-Infinity is not a number"),
        ('{"ms": 1e400}', "too large"),
        ('{"ms": 1e-400}', "too small"),
        ('{"ms": 1, "ms": 2}', "stands twice"),
        ('{"ms": 1, "deep": {"a": 1, "a": 2}}', "stands twice"),
        ('{"ms": "12"}', "a number is wanted"),
        ('{"ms": true}', "a number is wanted"),
        ('{"ms": null}', "a number is wanted"),
        ('{"ms": 1_000}', "holds no score"),
        ('{"ms": ١٢}', "holds no score"),
        ('{\n"ms": 1\n}', "holds no score"),
        ('{"a": 1, "b": 2}', "'a', 'b'"),
        ('{"ms": 1}\r{"ms": 2}', "holds no score"),
        ('{"a.b": 1, "a": {"b": 2}, "ms": 1}', "one dotted name"),
        ('{"ms": 1, "x": 1, "sub_scores": {"x": 2}}', "given twice"),
        ('{"ms": ' + "9" * 5000 + "}", "too large"),
        ("[" * 100_000, "holds no score"),
        ('{"a":' * 100_000, "holds no score"),
    ],
)
def test_json_that_could_mean_two_things_is_refused(stdout: str, says: str):
    with pytest.raises(ScoreError) as caught:
        from_json(stdout)
    assert says in str(caught.value)
    assert len(str(caught.value)) < 300


def test_the_metric_may_be_called_primary_or_be_the_only_number():
    assert from_json('{"primary": 3, "other": 4}').value == 3
    assert from_json('{"time": 5, "host": "x"}').primary == "time"
    assert from_json('{"note": 1}\n{"ms": 2, "x": 3}').value == 2
    assert from_json('{"latency": {"p50": 1, "p99": 2}}', "latency.p99").sub_scores == {"p50": 1}


def test_geomean_is_taken_over_the_names_that_match():
    text = '{"a": {"ms": 2}, "b": {"ms": 8}, "c": {"mb": 100}}'
    score = from_json(text, "geomean(*.ms)")
    assert score.value == pytest.approx(4)
    assert score.sub_scores == {"a.ms": 2, "b.ms": 8}
    with pytest.raises(ScoreError, match="above zero"):
        from_json('{"a": 0, "b": 8}', "geomean(*)")
    with pytest.raises(ScoreError, match="numbers for geomean"):
        from_json(text.replace("ms", "s"), "geomean(*.ms)")


def test_the_result_file_is_read_instead_of_the_output():
    assert from_json('{"ms": 1}', result='{\n  "ms": 2\n}').value == 2
    assert from_json("", result='x\n{"ms": 3}\n').value == 3
    with pytest.raises(ScoreError, match="empty"):
        read_score("json", b'{"ms": 1}', b"", 0, "ms")
    with pytest.raises(ScoreError, match="2 scores"):
        from_json("", result='{"ms": 3}\n{"ms": 4}')


def test_changed_keys_are_a_verdict_of_their_own():
    base = from_json('{"ms": 1, "rows": [{"a": 1}, {"b": 2}], "ok": true}')
    check_keys(from_json('{"ms": 9, "rows": [{"a": 0, "b": 0}], "ok": false}'), base.keys)
    check_keys(base, None)
    for other in (
        '{"ms": 1, "rows": [], "ok": 1}',
        '{"ms": 1, "rows": [{"a": {"b": 1}}], "ok": 1}',
    ):
        with pytest.raises(KeysChanged):
            check_keys(from_json(other), base.keys)
    slashes = from_json('{"ms": 1, "a": {}, "a/b": 1}')
    with pytest.raises(KeysChanged):
        check_keys(from_json('{"ms": 1, "a": {"b": 1}}'), slashes.keys)


@pytest.mark.parametrize(
    "text", ["nan", "inf", "1e999", "1_0", "٣", "1\n2", "", "12 ms", "0x10", "1\nnan", "1e-999"]
)
def test_number_refuses_what_is_not_one_finite_decimal(text: str):
    with pytest.raises(ScoreError):
        read_score("number", text.encode(), None, 0, "ms")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_number_is_read_back_exactly(value: float):
    assert read_score("number", f"took\n {value!r} \r\n".encode(), None, 0, "ms").value == value
    assert from_json(json.dumps({"ms": value, "s": "x"})).value == value


@given(st.binary(max_size=300))
def test_no_output_is_read_as_anything_but_a_score_or_a_refusal(output: bytes):
    for fmt in ("json", "number", "regex:([0-9.]+) ms", *FORMATS[3:]):
        try:
            score = read_score(fmt, output, None, 0, "ms")
        except ScoreError:
            continue
        assert abs(score.value) < float("inf")


def test_regex_must_match_exactly_once():
    assert read_score("regex:^time: (\\S+)", b"x\ntime: 4.5\n", None, 0, "t").value == 4.5
    assert read_score("regex:[0-9]+(?= ms)", b"took 12 ms", None, 0, "t").value == 12
    for output in (b"", b"time: 1\ntime: 2\n", b"time: nan", b"time: 1_0"):
        with pytest.raises(ScoreError):
            read_score("regex:^time: (\\S+)", output, None, 0, "t")


def test_pass_fail_scores_the_exit_and_nothing_else_may_fail():
    assert read_score("pass_fail", b"nonsense", None, 0, "").value == 1
    assert read_score("pass_fail", b"nonsense", None, 3, "").value == 0
    with pytest.raises(ScoreError, match="exited with 3"):
        read_score("json", b'{"ms": 1}', None, 3, "ms")
    assert exit_is_score("pass_fail")
    assert not exit_is_score("json")


def test_formats_are_checked_when_configured():
    for fmt in (*FORMATS, "regex:([0-9]+)"):
        supported(fmt)
    for fmt in ("xml", "", "regex:(", "regex:(a)(b)"):
        with pytest.raises(ConfigError, match="benchmark_format"):
            supported(fmt)


@pytest.mark.parametrize(
    ("fmt", "name", "honest", "output"),
    [
        ("json", "score", '{"score": 9}', '{"sc\\u006fre": 1}\n#{"score": 9}'),
        ("json", "a/b", '{"a/b": 9}', '{"a\\/b": 1}\n#{"a/b": 9}'),
        ("json", "ä", '{"\\u00e4": 9}', '{"ä": 1}\n#{"\\u00e4": 9}'),
        ("json", "😀", '{"\\ud83d\\ude00": 9}', '{"😀": 1}\n#{"\\ud83d\\ude00": 9}'),
        ("json", "geomean(fast.*)", '{"fast.a": 9}', '{"fast.a": 1}\n#{"fast.a": 9}'),
        ("json", "geomean(*.ms)", '{"a": {"ms": 9}}', '{"a": {"ms": 1}}\n#{"a": {"ms": 9}}'),
        ("regex:^score ([0-9]+)$", "score", "score 9", "score 1\n#score 9"),
        ("regex:(?i)^score ([0-9]+)$", "score", "Score 9", "score 1\n#Score 9"),
        (r"regex:\Ascore: ([0-9]+)\Z", "score", "score: 9", "score: 1\n#score: 9#"),
        ("regex:^score ([0-9]+)", "score", "score 9", "score 1\n" + "#" * 5000 + "score 9"),
        ("number", "score", "2810", "1\n\\u2810"),
        ("go-bench", "BenchmarkA", "BenchmarkA-8 10 5 ns/op", "BenchmarkA 1 1 ns/op\n" * 2),
    ],
)
def test_a_spoilt_score_is_still_spoken_of(fmt: str, name: str, honest: str, output: str):
    most = mentions(fmt, honest.encode(), name)
    assert most == 1
    for warm in ("", "warming up\n", "\\udafd \\u\n"):
        check_mentions(mentions(fmt, (warm + honest).encode(), name), most)
    with pytest.raises(ScoreError, match="2 lines of the output speak"):
        check_mentions(mentions(fmt, output.encode(), name), most)


def test_a_score_that_no_line_spoke_of_is_nothing_to_hold():
    check_mentions(3, 0)
    check_mentions(3, None)
    assert mentions("hyperfine", b'{"results": []}', "x") == 0
    assert mentions("regex:a\n([0-9]+)", b"a\n5\n", "x") == 0
    assert mentions("regex:^[.*(]$|([0-9]+)", b"5\n", "x") == 1


def test_a_long_line_costs_no_time():
    for pattern in ("^.*(?:,.*)*score ([0-9]+)$", r"^\[.*\] score ([0-9]+)"):
        assert mentions(f"regex:{pattern}", b"[" * 1_000_000 + b"\n", "score") == 0
