from __future__ import annotations

import time

import pytest

from selfimprove.review.hypothesis import count_hypotheses

ONE = [
    "Caching the parsed schema should improve latency because it is parsed on every call",
    "Raising BATCH from 10 to 1.5e3 should reduce flush_ms by 20%. It should also reduce memory.",
    "Doing X should improve Y because Z. The gain should increase with the input's size.",
    "Use a deque: pops from the left should cost O(1) and speed up the scan.",
    "A set should help lookups and memory should fall",
    "Sorting once and bisecting should reduce comparisons, so this should lower the time.",
    "Replacing list by tuple (see 2) in a) should help",
    "- Inlining `area()` should reduce call overhead",
    "MAX_DEPTH = 3; a smaller tree should improve cache use",
    "Verwendung von `__slots__` senkt den Speicherbedarf",
    "H2 headings should be parsed faster when H1 is known",
    "Set LIMIT to 10 in src/a.py; should improve the score since less work is done; nothing else",
]
SEVERAL = [
    "1. Cache the schema\n2. Batch the writes",
    "- cache the schema\n- batch the writes",
    "* Caching should help\n* Batching should help",
    "(1) caching should help (2) batching should help",
    "Hypothesis 1: caching helps. Hypothesis 2: batching helps.",
    "H1: caching helps; H2: batching helps",
    "Caching should improve latency; and also batching should improve throughput",
    "Caching should improve latency. Batching should improve throughput.",
    "Caching should improve latency and batching should improve throughput",
    "Caching the schema should reduce time because it is parsed often. Additionally, use a deque.",
    "A set should help. Also a deque could speed up the queue.",
]
NONE = ["", "   ", "none", "N/A", "TBD.", "...", "---", "?"]


@pytest.mark.parametrize("text", ONE)
def test_one(text: str) -> None:
    assert count_hypotheses(text) == 1


@pytest.mark.parametrize("text", SEVERAL)
def test_several(text: str) -> None:
    assert count_hypotheses(text) > 1


@pytest.mark.parametrize("text", NONE)
def test_none(text: str) -> None:
    assert count_hypotheses(text) == 0


@pytest.mark.parametrize(
    "unit", ["a ", "should ", "x should ", "and ", "1. ", "; ", "\n", "- ", "("]
)
def test_a_megabyte_of_anything_is_looked_at_in_no_time(unit: str) -> None:
    started = time.process_time()
    count_hypotheses(unit * (1_000_000 // len(unit)))
    assert time.process_time() - started < 0.5
