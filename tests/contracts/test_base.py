"""What every record does: refuses in words, leaves out what is empty, says what its fields mean."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import ClassVar

import pytest
from pydantic import Field

from selfimprove.contracts.base import Record
from selfimprove.errors import ContractError


class Inner(Record):
    """A part."""

    size: int
    """Of the part, in bytes."""


class Outer(Record):
    """A whole."""

    additions: ClassVar[frozenset[str]] = frozenset({"notes"})

    part: Inner
    """What it is
    made of."""
    for_: list[str] = Field(default_factory=list, alias="for")
    """Who sees it."""
    plain: float | None = None
    own: int = Field(default=0, description="Said by the field itself.")
    """Not read."""
    notes: list[str] = Field(default_factory=list)


class Wider(Outer):
    """A whole and more."""

    more: str = ""
    """What else there is."""


def test_a_schema_says_what_the_text_below_a_field_says() -> None:
    schema = Wider.model_json_schema()
    told = {name: each.get("description") for name, each in schema["properties"].items()}
    assert told == {
        "part": "What it is\nmade of.",
        "for": "Who sees it.",
        "plain": None,
        "own": "Said by the field itself.",
        "notes": None,
        "more": "What else there is.",
    }
    assert schema["$defs"]["Inner"]["properties"]["size"]["description"] == "Of the part, in bytes."


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"part": {"size": 1}, "note": []}, "file.json: note: .* did you mean 'notes'?"),
        ({"part": {"sice": 1}}, "file.json: part.size: .*add 'size'"),
        ({}, "file.json: part: .*add 'part'"),
        ({"part": {"size": "much"}}, "file.json: part.size: .*it holds 'much'"),
        ({"part": {"size": 1}, "plain": float("nan")}, "file.json: plain: .*finite"),
    ],
)
def test_a_refusal_names_file_field_and_remedy(data: dict[str, object], said: str) -> None:
    with pytest.raises(ContractError, match=said):
        Outer.parse(data, "file.json")


def test_additions_are_left_out_when_empty_and_other_fields_are_null() -> None:
    document = Outer.parse({"part": {"size": 1}}, "file.json").document()
    assert document == {"part": {"size": 1}, "for_": [], "plain": None, "own": 0}


def test_a_text_that_is_no_json_is_refused() -> None:
    for text in ("{", "[" * 100_000):
        with pytest.raises(ContractError, match=r"file\.json: not JSON"):
            Outer.parse_json(text, "file.json")


def test_threads_may_be_the_first_to_use_a_record() -> None:
    """A record is built when it is first used; agents' threads may do so at the same time."""
    script = """
import json, sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
sys.setswitchinterval(1e-6)
from selfimprove.contracts.settings import Settings
barrier = Barrier(8)
def first(_):
    barrier.wait()
    return Settings.parse({"patience": 7}, "x").document()
with ThreadPoolExecutor(8) as pool:
    found = list(pool.map(first, range(8)))
print(json.dumps([each == found[0] and each["patience"] == 7 for each in found]))
"""
    told = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert json.loads(told.stdout) == [True] * 8
