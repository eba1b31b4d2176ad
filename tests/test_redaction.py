"""What is a secret, and that nothing of it is written."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfimprove.redaction import SHOWN, Redactor, Stream, named_like_secrets

KEY = "Zx81-PqLmW0v"


def test_variables_named_like_secrets() -> None:
    environ = {
        "OPENAI_API_KEY": KEY,
        "GH_TOKEN": "abc-12345678",
        "AWS_SECRET_ACCESS_KEY": "x/y+z12345",
        "PGPASSWORD": "hunter-2222",
        "GIT_AUTHOR_NAME": "A User 1234",
        "SSH_AUTH_SOCK": "/run/agent.1",
        "KEYBOARD": "us-intl-1234",
        "MY_TOKEN_COUNT": "123456789012",
        "SECRET": "production",
    }
    assert set(named_like_secrets(environ)) == {KEY, "abc-12345678", "x/y+z12345", "hunter-2222"}


def test_known_forms_and_patterns_of_ones_own() -> None:
    redactor = Redactor([KEY], [r"ticket-\d+"])
    token = "ghp_" + "a1B2" * 9
    text = f"{KEY} AKIAQ3EGRIZ5KWTLMN7X {token} https://user:pass@host/x ticket-12 plain"
    assert redactor.text(text) == f"*** *** *** https://{SHOWN}@host/x *** plain"
    assert redactor.found("nothing here: key, token, secret") == ""


JWT = ".".join(["eyJ" + "aB3_" * 9, "eyJ" + "cD-4" * 9, "sig_" * 8])
OPENAI = f"sk-proj-{'aB3' * 8}T3BlbkFJ{'x9Yz' * 5}"


@pytest.mark.parametrize("before", ["", " ", "=", "\\n", "\x1b[32m", "%20", "key_", "Bearer%20"])
@pytest.mark.parametrize(
    "token", [JWT, OPENAI, "/:_authToken= npm_abc", "/:_authToken=" + "a1" * 18]
)
def test_a_token_is_found_whatever_stands_before_it(before: str, token: str) -> None:
    text = Redactor().text(f"first {before}{token} ")
    assert token[-10:] not in text
    assert token[:20] not in text
    assert text.startswith("first ")


@pytest.mark.parametrize(
    "text",
    [
        "eyJ" * 100_000,
        "eyJ" * 100_000 + ".eyJ",
        "eyJ0123456789." * 20_000,
        "sk-" * 100_000 + " T3BlbkFJ",
        "sk-aaaaaaaaaaaaaaaaaaaaaaaa" * 10_000 + "T3BlbkFJ",
        "sk-aaaaaaaaaaaaaaaaaaaaaaaa" * 10_000 + "T3BlbkFJ" * 10_000,
        "/" * 300_000 + " _authToken",
        "//x/:_authToken=" * 20_000,
        "//x/:_authToken=" + " " * 300_000,
        "xoxa-" + "1-" * 100_000,
        "-----BEGIN PRIVATE KEY-----" * 10_000,
        "-----BEGIN " + "PRIVATE KEY" * 20_000,
        "://a:" * 60_000,
        "://" + "a:" * 100_000,
        "glagent-" * 3_000,
    ],
    ids=lambda text: text[:12],
)
def test_no_text_takes_time_beyond_its_length(text: str) -> None:
    began = time.process_time()
    Redactor().text(text)
    assert time.process_time() - began < 3  # hundredths; minutes where a search is quadratic


def test_a_document_is_cleaned_in_depth_and_left_alone_where_it_is_clean() -> None:
    redactor = Redactor([KEY])
    clean = {"a": ["text", 1, None], "b": {"c": "more"}}
    assert redactor.document(clean) is clean
    dirty = {"a": ["text", f"the {KEY}"], "b": {"c": 1.5}}
    assert redactor.document(dirty) == {"a": ["text", "the ***"], "b": {"c": 1.5}}


def test_a_value_is_found_as_json_writes_it() -> None:
    assert '"' not in Redactor(['quo"ted-value-1']).text('{"k": "quo\\"ted-value-1"}')[7:-2]


@given(st.lists(st.integers(1, 40), max_size=20))
def test_a_stream_cut_anywhere_shows_no_secret(cuts: list[int]) -> None:
    whole = f"first {KEY}\nsecond {KEY} and {KEY}\nthird".encode()
    stream, out, at = Stream(Redactor([KEY])), b"", 0
    for size in [*cuts, len(whole)]:
        out += stream.add(whole[at : at + size])
        at += size
    out += stream.rest()
    assert out == whole.replace(KEY.encode(), SHOWN.encode())
