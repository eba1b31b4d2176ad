from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfimprove.expressions import contradiction, expression, looks_like_expression, simple


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("accuracy>=0.98", "accuracy >= 0.98"),
        ("mem.rss ≤ 3e2", "mem.rss <= 3e2"),
        ("a <= b*1.05 and c > -2", "a <= b * 1.05 && c > -2"),
        ("(a + b) / 2 >= 1 || c == 0", "(a + b) / 2 >= 1 || c == 0"),
        ("pytest -q", None),
        ("make > log", None),
        ("a >= 98%", None),
        ("1 < a < 3", None),
        ("a > 1 >", None),
        ("(a > 1", None),
        ("a > 1 && b", None),
        ("a b > 1", None),
        ("", None),
    ],
)
def test_the_form(text: str, meant: str | None) -> None:
    assert expression(text) == meant


@given(st.text(alphabet="ab1. <>=()&|+-*andor≤", max_size=30))
def test_one_spelling(text: str) -> None:
    meant = expression(text)
    assert meant is None or expression(meant) == meant


def test_a_broken_one_is_told_from_a_command() -> None:
    assert looks_like_expression("accuracy >= 98%")
    assert not looks_like_expression("pytest -q > 3.txt")
    assert not looks_like_expression("python x.py | grep 1")


def test_contradictions() -> None:
    assert simple("a > 2") == ("a", ">", 2.0)
    assert contradiction(["a > 2", "b < 1", "a < 2"]) == ("a > 2", "a < 2")
    assert contradiction(["a >= 2", "a <= 2", "a < 3"]) is None
    assert contradiction(["a == 2", "a > 2"]) == ("a == 2", "a > 2")
