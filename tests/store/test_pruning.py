"""Pruned rounds: the chain holds, every document stays, what was changed is found."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from selfimprove.errors import ConfigError
from selfimprove.store.archive import ANCHOR, read_anchor
from selfimprove.store.files import rows_of
from selfimprove.store.journal import Journal, segment_numbers
from selfimprove.store.layout import Layout
from selfimprove.store.pruning import prune
from selfimprove.store.rebuild import findings, rebuild
from selfimprove.store.record import load_state
from selfimprove.testing.compare import files
from selfimprove.testing.records import Recorder, finished, to_end, to_execution

ROUNDS = 5


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return finished(tmp_path, ROUNDS).layout


@pytest.mark.parametrize("keep", [1, 2, ROUNDS])
def test_every_document_stays_and_the_record_is_sound(layout: Layout, keep: int) -> None:
    before, state = files(layout), load_state(layout)
    done = prune(layout, keep)
    assert list(done.rounds) == list(range(ROUNDS - keep + 1))
    assert segment_numbers(layout.journal) == list(range(ROUNDS - keep + 1, ROUNDS + 1))
    assert done.freed > 1000
    assert files(layout) == before
    assert findings(layout) == []
    assert load_state(layout) == state
    assert rebuild(layout) == []


def test_it_can_be_pruned_again_and_gone_on_with(tmp_path: Path) -> None:
    whole, pruned = tmp_path / "whole", tmp_path / "pruned"
    finished(whole, ROUNDS)
    shutil.copytree(whole, pruned)
    for keep in (3, 2, 1):
        prune(Layout(pruned), keep)
    for root in (whole, pruned):
        record = Recorder(root)
        record.state = load_state(record.layout)
        record.journal = Journal(record.layout.journal, "run_1")
        record.add([*to_execution(ROUNDS + 1), *to_end(ROUNDS + 1, 80.0, 70.0)])
        record.checkpoint()
        assert findings(record.layout) == []
    mine, theirs = files(Layout(pruned)), files(Layout(whole))
    assert mine.keys() == theirs.keys()
    assert [len(rows_of(mine[f"tracking/{n}.json"])) for n in ("raw_data", "events")] == [12, 0]


def test_a_deleted_document_of_a_round_that_is_kept_comes_back(layout: Layout) -> None:
    prune(layout, 2)
    for path in ("state/iteration_history/round_4.json", "state/agent-settings.json"):
        (layout.root / path).unlink()
    assert len(findings(layout)) == 2
    assert len(rebuild(layout)) == 2
    assert findings(layout) == []


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("state/iteration_history/round_1.json", "differs from what was archived"),
        ("state/results/round_2/executor_1.json", "differs from what was archived"),
        ("tracking/raw_data.json", "rows of archived rounds were changed"),
    ],
)
def test_an_edited_document_of_an_archived_round_is_named(
    layout: Layout, path: str, said: str
) -> None:
    prune(layout, 2)
    file = layout.root / path
    file.write_bytes(file.read_bytes().replace(b"optimization", b"optimisation", 1) + b" ")
    edited = file.read_bytes()
    assert any(said in found and path in found for found in findings(layout))
    rebuild(layout)
    assert file.read_bytes() == edited  # it cannot be made anew: never overwritten by a guess


def test_a_missing_document_of_an_archived_round_is_named(layout: Layout) -> None:
    prune(layout, 1)
    (layout.root / "state/merge_reports/round_2.json").unlink()
    assert findings(layout) == [
        "state/merge_reports/round_2.json: missing, and its round is archived"
    ]


def test_a_broken_link_to_the_anchor_is_named(layout: Layout) -> None:
    prune(layout, 2)
    file = layout.root / ANCHOR
    document: dict[str, Any] = json.loads(file.read_bytes())
    document["line"] = document["line"].replace('"idle"', '"running"', 1).replace("msg_", "msg-", 1)
    file.write_text(json.dumps(document))
    assert any("hash chain is broken" in found for found in findings(layout))


def test_a_missing_segment_is_named(layout: Layout) -> None:
    layout.segment(3).unlink()
    assert any("round_3.jsonl: missing" in found for found in findings(layout))


def test_what_is_not_sound_is_not_pruned(layout: Layout) -> None:
    (layout.root / "state/results/round_1/executor_1.json").write_text("{}")
    with pytest.raises(ConfigError, match="mend it first"):
        prune(layout, 1)
    assert read_anchor(layout) is None
    assert segment_numbers(layout.journal) == list(range(ROUNDS + 1))


def test_nothing_to_prune_is_said(layout: Layout) -> None:
    with pytest.raises(ConfigError, match="nothing to prune"):
        prune(layout, ROUNDS + 1)


def test_a_pruning_that_was_interrupted_is_ended_by_the_next(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = {number: layout.segment(number).read_bytes() for number in range(4)}
    prune(layout, 2)
    for number, data in kept.items():  # the anchor is written, the lines are still there
        layout.segment(number).write_bytes(data)
    assert findings(layout) == []
    prune(layout, 1)
    assert segment_numbers(layout.journal) == [ROUNDS]
    assert findings(layout) == []
