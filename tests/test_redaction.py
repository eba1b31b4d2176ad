"""What is a secret, and that nothing of it is written."""

from __future__ import annotations

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
