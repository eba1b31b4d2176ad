"""Whatever a kill left of a journal or of a document, the next start ends in the same record."""

from __future__ import annotations

from pathlib import Path

import pytest

from selfimprove.store.files import leftovers
from selfimprove.store.fold import fold
from selfimprove.store.journal import Journal, decode, is_checkpoint, mend
from selfimprove.store.layout import Layout, folders_of_record
from selfimprove.store.rebuild import derive, findings
from selfimprove.store.record import load
from selfimprove.store.writer import Writer
from selfimprove.testing.compare import files
from selfimprove.testing.records import Recorder, finished, set_up, to_end, to_execution


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Recorder:
    """A run in its second round; its last segment is open."""
    made = Recorder(tmp_path_factory.mktemp("record"))
    made.add(set_up())
    made.checkpoint()
    made.add([*to_execution(1), *to_end(1, 142.3, 128.0)])
    made.checkpoint()
    made.add([*to_execution(2), *to_end(2, 128.0, 120.0)])
    return made


@pytest.mark.long
def test_mend_and_fold_at_every_byte_is_the_fold_of_the_whole_lines(
    record: Recorder, tmp_path: Path
) -> None:
    """Of the last segment: only there can a line be torn."""
    data = record.layout.segment(2).read_bytes()
    lines = [decode(line, "line") for line in data.splitlines()]
    before = next(state for e, state in reversed(record.seen[: -len(lines)]) if is_checkpoint(e))
    states = [before]
    for line in lines:
        states.append(fold([line], states[-1]))
    path = tmp_path / "round_2.jsonl"
    for cut in range(len(data) + 1):
        path.write_bytes(data[:cut])
        mend(path)
        whole = data[:cut].count(b"\n")
        mended = path.read_bytes()
        assert mended == data[: len(mended)]
        assert mended.count(b"\n") == whole
        assert mended.endswith(b"\n") or not mended
    for whole, state in enumerate(states):  # and of so many whole lines, the same state each time
        assert fold(lines[:whole], before) == state


def test_a_start_after_every_line_brings_every_document_up_to_date(
    record: Recorder, tmp_path: Path
) -> None:
    data = record.layout.segment(2).read_bytes()
    ends = [position + 1 for position, byte in enumerate(data) if byte == 10]
    for number, end in enumerate([0, *ends]):
        layout = copied(record, tmp_path / str(number), data[: end + 7])
        start(layout)
        assert findings(layout) == [], number


def copied(record: Recorder, root: Path, last: bytes) -> Layout:
    """The record as a kill left it: that much of the last segment, the documents of before."""
    layout = Layout(root)
    layout.journal.mkdir(parents=True)
    for number in (0, 1):
        layout.segment(number).write_bytes(record.layout.segment(number).read_bytes())
    layout.segment(2).write_bytes(last)
    for path, data in derive_of(layout).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    return layout


def derive_of(layout: Layout) -> dict[str, bytes]:
    return derive(layout, upto=1).files


def start(layout: Layout) -> None:
    """What a process does before anything else."""
    Journal(layout.journal, "run_1")
    state, last = load(layout)
    Writer(layout.root).catch_up(state, last)


@pytest.mark.parametrize("cut", [0.0, 0.3, 0.999])
def test_a_torn_document_is_whole_again_after_the_next_start(tmp_path: Path, cut: float) -> None:
    layout = finished(tmp_path).layout
    layout.segment(2).write_bytes(layout.segment(2).read_bytes().rpartition(b'{"version"')[0])
    start(layout)
    wanted = files(layout)
    for path, data in wanted.items():
        (layout.root / path).write_bytes(data[: int(len(data) * cut)])
        if "round_1" in path:
            continue  # of a round that is over: `validate` names it, `--rebuild` restores it
        start(layout)
        assert files(layout)[path] == data, path


def test_what_a_kill_left_half_written_is_known_as_such(tmp_path: Path) -> None:
    layout = finished(tmp_path).layout
    (layout.root / "state/.run.json.ab12_xyz").write_text("{")
    (layout.root / "tracking/.raw_data.json.0123abcd").write_text("[")
    (layout.root / "config").mkdir()
    (layout.root / "config/.my notes").write_text("mine")
    assert [path.name for path in leftovers(*folders_of_record(layout, 2))] == [
        ".run.json.ab12_xyz",
        ".raw_data.json.0123abcd",
    ]
    assert findings(layout) == []
