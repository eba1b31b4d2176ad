"""The journal: chained, mended after a torn write, and found out where it was edited."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from selfimprove.contracts.envelope import FIRST_PREV, control
from selfimprove.errors import ContractError
from selfimprove.store.journal import (
    Journal,
    chained,
    digest,
    mend,
    read_lines,
    read_segment,
    segment_numbers,
)


def write(folder: Path, *segments: int) -> Journal:
    """A journal with so many lines in each segment, all but the last one closed."""
    journal = Journal(folder, "run_1")
    for number, count in enumerate(segments):
        for line in range(count):
            closing: dict[str, Any] = {}
            if line == count - 1 and number < len(segments) - 1:
                closing = {"state": {"round": number}}
            journal.append(control(f"round_{number}/ü", "warning", line=line, **closing))
    return journal


def test_lines_are_numbered_and_chained_across_segments(tmp_path: Path) -> None:
    write(tmp_path, 3, 2, 1)
    assert segment_numbers(tmp_path) == [0, 1, 2]
    lines = [line for k in range(3) for line in read_lines(tmp_path / f"round_{k}.jsonl")]
    found = [json.loads(line) for line in lines]
    assert [each["seq"] for each in found] == [1, 2, 3, 4, 5, 6]
    assert [each["id"] for each in found] == [f"msg_{k}" for k in range(1, 7)]
    assert found[0]["prev"] == FIRST_PREV
    assert [each["prev"] for each in found[1:]] == [digest(line) for line in lines[:-1]]
    assert list(chained(tmp_path)) == []


def test_a_torn_last_line_is_cut_off_wherever_it_was_torn(tmp_path: Path) -> None:
    write(tmp_path, 2, 2)
    path = tmp_path / "round_1.jsonl"
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    for cut in range(first, len(whole)):
        path.write_bytes(whole[:cut])
        assert mend(path) == cut - first
        assert path.read_bytes() == whole[:first]
    # and whatever was torn, the next process goes on from the last whole line
    for cut in (first, first + 1, len(whole) - 1):
        path.write_bytes(whole[:cut])
        written = Journal(tmp_path, "run_1").append(control("run", "warning"))
        assert written.seq == 4
        assert list(chained(tmp_path)) == []
        assert len(read_segment(path)) == 2


def test_a_whole_last_line_stays(tmp_path: Path) -> None:
    write(tmp_path, 2)
    path = tmp_path / "round_0.jsonl"
    before = path.read_bytes()
    assert mend(path) == 0
    assert path.read_bytes() == before


@pytest.mark.parametrize("cut", [0, 1, 40])
def test_a_segment_whose_first_line_was_torn_is_begun_again(tmp_path: Path, cut: int) -> None:
    write(tmp_path, 2, 1)
    path = tmp_path / "round_1.jsonl"
    path.write_bytes(path.read_bytes()[:cut])
    journal = Journal(tmp_path, "run_1")
    journal.append(control("round_1", "warning"))
    assert segment_numbers(tmp_path) == [0, 1]
    assert [each.seq for each in read_segment(path)] == [3]
    assert list(chained(tmp_path)) == []


def test_every_edited_line_is_found(tmp_path: Path) -> None:
    write(tmp_path, 3, 2)
    for number in (0, 1):
        path = tmp_path / f"round_{number}.jsonl"
        whole = path.read_bytes()
        lines = whole.splitlines(keepends=True)
        for index in range(len(lines)):
            if (number, index) == (1, 1):
                continue  # nothing follows the last line that could tell
            edited = lines[index].replace(b'"warning"', b'"wArning"')
            path.write_bytes(b"".join([*lines[:index], edited, *lines[index + 1 :]]))
            found = list(chained(tmp_path))
            after = (number, index + 2) if index + 1 < len(lines) else (number + 1, 1)
            assert [where for where, _ in found] == [f"round_{after[0]}.jsonl:{after[1]}"]
            assert "hash chain is broken" in found[0][1]
        path.write_bytes(whole)
    assert list(chained(tmp_path)) == []


def test_lines_left_out_or_swapped_are_found(tmp_path: Path) -> None:
    write(tmp_path, 4)
    path = tmp_path / "round_0.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    for odd in (lines[:1] + lines[2:], [lines[0], lines[2], lines[1], lines[3]], lines[1:]):
        path.write_bytes(b"".join(odd))
        assert list(chained(tmp_path))


def test_a_line_that_is_no_envelope_is_named(tmp_path: Path) -> None:
    write(tmp_path, 2)
    path = tmp_path / "round_0.jsonl"
    path.write_bytes(path.read_bytes() + b'{"version": "v2"}\n')
    assert [where for where, _ in chained(tmp_path)] == ["round_0.jsonl:3"]
    with pytest.raises(ContractError, match=r"round_0\.jsonl:3"):
        read_segment(path)


def edited(path: Path, index: int) -> bytes:
    """Change a word in one line of a segment; gives the segment as it now is."""
    lines = path.read_bytes().splitlines(keepends=True)
    lines[index] = lines[index].replace(b'"warning"', b'"wArning"')
    path.write_bytes(b"".join(lines))
    return path.read_bytes()


@pytest.mark.parametrize(
    ("segment", "index", "named"),
    [(2, 0, "round_2.jsonl:2"), (2, 1, "round_2.jsonl:3"), (1, -1, "round_2.jsonl:1")],
)
def test_nothing_is_appended_to_a_broken_chain(
    tmp_path: Path, segment: int, index: int, named: str
) -> None:
    write(tmp_path, 2, 2, 3)
    last = tmp_path / "round_2.jsonl"
    edited(tmp_path / f"round_{segment}.jsonl", index)
    last.write_bytes(last.read_bytes() + b'{"torn')
    before = last.read_bytes()
    with pytest.raises(ContractError, match=rf"{named}.*selfimprove validate"):
        Journal(tmp_path, "run_1")
    assert last.read_bytes() == before


def test_a_line_that_is_none_stops_a_start_too(tmp_path: Path) -> None:
    write(tmp_path, 2, 2)
    path = tmp_path / "round_1.jsonl"
    path.write_bytes(path.read_bytes() + b"{}\n")
    with pytest.raises(ContractError, match=r"round_1\.jsonl:3.*selfimprove validate"):
        Journal(tmp_path, "run_1")


def test_an_edit_long_ago_stops_no_start(tmp_path: Path) -> None:
    write(tmp_path, 2, 2, 2)
    edited(tmp_path / "round_0.jsonl", 0)
    assert Journal(tmp_path, "run_1").append(control("run", "warning")).seq == 7
