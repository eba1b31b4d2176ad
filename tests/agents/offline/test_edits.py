from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfimprove.agents.offline.edits import (
    Hunk,
    Splice,
    StaleEdit,
    apply_hunks,
    hunks_of,
    splice,
)

TEXTS = st.text(alphabet="ab \n\ré#", max_size=60)


@given(TEXTS, st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60), TEXTS), max_size=4))
def test_hunks_do_to_the_text_what_the_spans_do(text: str, raw: list[tuple[int, int, str]]) -> None:
    spans = [Splice(min(a, b, len(text)), min(max(a, b), len(text)), new) for a, b, new in raw]
    try:
        wanted = splice(text, spans)
        hunks = hunks_of(text, spans)
    except StaleEdit:
        return
    if all(hunk.old for hunk in hunks):  # only an empty file has no line to find
        assert apply_hunks(text, hunks) == wanted


def test_an_edit_finds_its_lines_where_they_have_moved_to() -> None:
    hunk = Hunk(2, "b = 1\n", "b = 2\n")
    assert apply_hunks("x\ny\nz\na\nb = 1\n", [hunk]) == "x\ny\nz\na\nb = 2\n"


def test_of_equal_lines_the_nearest_is_meant() -> None:
    assert apply_hunks("a\nb\na\nc\n", [Hunk(3, "a\n", "A\n")]) == "a\nb\nA\nc\n"


def test_an_edit_whose_lines_are_gone_says_so() -> None:
    with pytest.raises(StaleEdit, match="line 2 no longer reads 'b = 1'"):
        apply_hunks("a\nb = 3\n", [Hunk(2, "b = 1\n", "b = 2\n")])


def test_overlapping_spans_are_refused() -> None:
    with pytest.raises(StaleEdit, match="overlap"):
        splice("abcdef", [Splice(0, 3, "x"), Splice(2, 4, "y")])
