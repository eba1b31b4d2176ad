"""The record of a real run, as it is committed at the top: it folds, rebuilds and compares."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from selfimprove.app.options import ReplayOptions
from selfimprove.app.replay import replay
from selfimprove.store.layout import Layout
from selfimprove.store.rebuild import derive, findings, rebuild
from selfimprove.store.record import load_state

TOP = Path(__file__).parents[1]


@pytest.fixture
def record(tmp_path: Path) -> Layout:
    """A copy of the record, laid out as a root."""
    for folder in ("state", "tracking"):
        shutil.copytree(TOP / folder, tmp_path / folder)
    return Layout(tmp_path)


def test_it_is_sound(record: Layout) -> None:
    assert findings(record) == []


def test_it_is_a_run_with_wins(record: Layout) -> None:
    state = load_state(record)
    assert state.status == "max_iterations"
    assert state.wins_total >= 2
    rows = json.loads((record.root / "tracking/raw_data.json").read_text())
    assert sum(row["is_winner"] for row in rows) == state.wins_total


def test_every_document_comes_back_byte_for_byte(record: Layout) -> None:
    written = {
        path: path.read_bytes()
        for folder in ("state", "tracking")
        for path in sorted((record.root / folder).rglob("*.json"))
    }
    assert len(written) > 30
    for path in written:
        path.unlink()
    assert len(rebuild(record)) == len(written)
    assert {path: path.read_bytes() for path in written} == written


def test_the_checkpoint_is_what_the_lines_fold_to(record: Layout) -> None:
    assert derive(record).state == load_state(record)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_every_decision_is_derived_again(
    record: Layout, number: int, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ReplayOptions(number, record.root, "default", record.root, None, True)
    assert replay(options) == 0, capsys.readouterr().out
