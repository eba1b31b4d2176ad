from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from selfimprove.bench.raw import LIMIT, raw_text, redact


def test_short_output_is_kept_and_bad_bytes_replaced():
    assert raw_text(b"time \xff 3\n") == "time \ufffd 3\n"


def test_long_output_keeps_head_and_tail_within_the_limit():
    text = raw_text(b"first " + "é".encode() * LIMIT + b" last")
    assert len(text.encode()) <= LIMIT
    assert text.startswith("first é")
    assert text.endswith("é last")
    assert "the middle is in the log" in text


@given(st.binary(max_size=200), st.integers(min_value=1, max_value=4000))
def test_the_limit_holds_for_any_bytes(piece: bytes, times: int):
    assert len(raw_text(piece * times).encode()) <= LIMIT


def test_secrets_are_blotted_out_longest_first():
    secrets = ["tokn", "tokn-long", "", "1"]
    assert redact("a tokn-long b tokn c 1", secrets) == "a *** b *** c 1"


def test_a_secret_across_the_cut_is_gone_too():
    secret = "S3CRET-" * 4
    output = b"x" * (LIMIT // 2 - 40) + secret.encode() * 2 + b"y" * LIMIT
    text = raw_text(output, [secret])
    assert "S3CRET" not in text
