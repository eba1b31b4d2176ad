from __future__ import annotations

import json
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfimprove.agents.extract import LIMIT, NotFoundError, last_object

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)
OBJECT = st.dictionaries(st.text(), JSON, max_size=4)


@given(
    st.text(), OBJECT, st.booleans(), st.sampled_from(["", "\n", "\n```\n", " done.\n", '"', "}"])
)
def test_the_last_object_is_found_whatever_stands_before_it(
    before: str, value: dict[str, object], ascii_only: bool, after: str
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    data = before.encode("utf-8", "surrogatepass") + b"\n"
    try:
        text.decode()
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeError:
        with pytest.raises(NotFoundError):
            last_object(data + text)
        return
    assert last_object(data + text + after.encode()) == (value, len(data))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1} and then {"b": 2}', {"b": 2}),
        ('{"a": {"b": {"c": 1}}}', {"a": {"b": {"c": 1}}}),
        ('{"a": "}{\\"}"}', {"a": '}{"}'}),
        ('{"a": "\\\\"}', {"a": "\\"}),
        ('he said "{ and {"a": 1}', {"a": 1}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('{"a": 1}\nAll done {really}.', {"a": 1}),
        ("set() is {} here", {}),
        ('f() { return {"x": 1}; } -> {\n  "a": 1\n}', {"a": 1}),
    ],
)
def test_examples(text: str, found: dict[str, object]) -> None:
    assert last_object(text.encode())[0] == found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no JSON object"),
        ("{ok}", "no JSON object"),
        ('{"a": 1', "no JSON object"),
        ('draft {"a": 1} then {"a": 2,}', "not JSON"),
        ('{"a": 1, "a": 2}', "'a' stands in it twice"),
        ('{"a": Infinity}', "Infinity"),
        ('{"a": "\\ud800"}', "UTF-8"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "nested"),
    ],
)
def test_what_is_no_answer(text: str, words: str) -> None:
    with pytest.raises(NotFoundError, match=words):
        last_object(text.encode())


@pytest.mark.parametrize(
    "unit",
    [
        b"{",
        b"}",
        b"{}",
        b"}{",
        b'{"a":',
        b'"',
        b'\\"',
        b'{"',
        b'"}',
        b'}"',
        b"{x}",
        b'{"a":[',
        b"\\",
    ],
)
def test_time_grows_no_faster_than_the_input(unit: bytes) -> None:
    def cost(size: int) -> float:
        data = unit * (size // len(unit)) + b"}"
        started = time.process_time()
        with suppress(NotFoundError):
            last_object(data)
        return time.process_time() - started

    assert cost(1 << 18) < 1.0


def test_the_largest_answer_is_read_and_a_larger_one_is_not() -> None:
    data = b'{"a": "' + b"x" * (LIMIT - 9) + b'"}'
    assert len(data) == LIMIT
    assert len(last_object(data)[0]["a"]) == LIMIT - 9
    with pytest.raises(NotFoundError, match="bytes"):
        last_object(data.replace(b"x", b"xx", 1))
