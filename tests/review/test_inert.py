"""Changes that no program can notice."""

from __future__ import annotations

import pytest

from selfimprove.review.inert import changes_no_code

CODE = b"def f(x):\n    return x + 1\n"


@pytest.mark.parametrize(
    ("path", "new", "inert"),
    [
        ("a.py", b"# why\ndef f(x):\n\n    return (x + 1)  # one more\n", True),
        ("a.py", b"def f(x):\n    return x + 2\n", False),
        ("a.py", b'def f(x):\n    "told"\n    return x + 1\n', False),
        ("a.py", b"def f(x:\n", False),
        ("a.c", CODE, False),
    ],
)
def test_what_counts_as_nothing(path: str, new: bytes, inert: bool) -> None:
    assert changes_no_code([(path, CODE, new)]) is inert


def test_no_change_is_not_this_rules_to_judge() -> None:
    assert not changes_no_code([])
