"""Every row of the catalogue: named or harmless, never merged; its honest twin judged on merit."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from conftest import staging

from selfimprove.room.unstopped import UNSTOPPED, unstopped

from . import (
    rows_answers,
    rows_benchmark,
    rows_channel,
    rows_git,
    rows_host,
    rows_work,
)
from .playing import KEY, Played, batches, perform
from .rows import LEVEL, Harmless, Named, Row, Unkept, Worse

pytestmark = pytest.mark.adversarial
TABLES = (rows_benchmark, rows_channel, rows_work, rows_answers, rows_git, rows_host)
NOT_STOPPED = {one.name for one in unstopped(LEVEL)}
EVERY_ROW = [row for table in TABLES for row in table.ROWS]
ROWS = [row for row in EVERY_ROW if NOT_STOPPED.isdisjoint(row.open_as)]
"""Those that the level is to stop: what it cannot, `doctor` and docs/threats.md say."""
BATCHES = batches(ROWS)
HOME_OF = {row.name: name for name, together in BATCHES.items() for row in together}


EACH_ROW = pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id=row.name, marks=pytest.mark.xdist_group(HOME_OF[row.name]))
        for row in ROWS
    ],
)
"""One test for each row; the rows of one run in one worker."""


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Played]:
    """The run of a batch, made when it is asked for first."""
    done: dict[str, Played] = {}

    def get(name: str) -> Played:
        if name not in done:
            folder = tmp_path_factory.mktemp("adversarial")
            with pytest.MonkeyPatch.context() as patch, staging(folder) as build:
                patch.setenv("EXAMPLE_API_KEY", KEY)
                patch.setenv("PYTHONSTARTUP", "/tmp/evil.py")
                done[name] = perform(name.rsplit(" ", 1)[0], BATCHES[name], folder, build)
        return done[name]

    return get


def test_rows_left_out_are_told_of() -> None:
    names = {one.name for one in UNSTOPPED}
    assert all(set(row.open_as) <= names for row in EVERY_ROW)
    said = " ".join((Path(__file__).parents[2] / "docs/threats.md").read_text().split())
    assert f"the catalogue's {len(EVERY_ROW)} rows" in said
    for level in ("landlock", "reduced"):
        open_here = {one.name for one in unstopped(level)}
        left_out = [row.name for row in EVERY_ROW if open_here & set(row.open_as)]
        listed = f"{', '.join(sorted(left_out)[:-1])} and {sorted(left_out)[-1]} at `{level}`"
        assert listed in said


@EACH_ROW
def test_row(row: Row, played: Callable[[str], Played]) -> None:
    run = played(HOME_OF[row.name])
    found = run.result(row)
    assert run.merged(1) != f"executor_{run.position(row)}", "it was merged"
    analysis, cheat = found["failure_analysis"], found.get("disqualification")
    if isinstance(row.fate, Named):
        assert analysis, found
        assert analysis["category"] == row.fate.category, analysis
        assert found["status"] == ("timeout" if row.fate.category == "timeout" else "error")
        assert found["benchmark_score"] is None
        assert (cheat or {}).get("technique", "") == row.fate.technique, analysis
        told = f"{analysis['what']} {analysis['why']} {(cheat or {}).get('evidence', '')}"
        assert row.fate.says in told
        return
    assert cheat is None, cheat
    assert found["benchmark_score"] is not None, analysis
    if isinstance(row.fate, Harmless) and row.stage != "fresh":
        assert found["benchmark_score"] == run.baseline
    said = found["claim"]["summary"]
    assert "found" not in said or said == "found []"
    if isinstance(row.fate, Unkept):
        report = run.play.document("state/merge_reports/round_1.json")
        assert row.fate.says in report["reason"]
    if isinstance(row.fate, Worse):
        assert found["status"] == "regression" or row.stage == "fresh"


@EACH_ROW
def test_twin(row: Row, played: Callable[[str], Played]) -> None:
    run = played(HOME_OF[row.name])
    found = run.result(row, 2)
    assert found["status"] == "success", found["failure_analysis"]
    assert found.get("disqualification") is None
    assert found["failure_analysis"] is None
    assert found["benchmark_score"] < run.baseline


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in BATCHES]
)
def test_what_is_left(name: str, played: Callable[[str], Played]) -> None:
    """The best twin is merged; nothing of the user's has moved, nothing runs, no key is kept."""
    run = played(name)
    assert run.wins == 1
    assert run.merged(1) == ""
    assert run.merged(2)
    assert run.changed == []
    assert run.connections == 0
    assert set(run.outside.values()) == {"mine\n"}
    assert not Path("/tmp/villain-was-run").exists()
    own = f"{run.play.trees.parent}/"  # another worker's villains may be at work
    assert [line for line in running() if own in line] == []
    kept = [path for path in everything(run) if KEY.encode() in path.read_bytes()]
    assert kept == []


def running() -> list[str]:
    """The command lines of all other processes."""
    lines = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid():
                lines.append(" ".join(process.cmdline()))
        except psutil.Error:
            continue
    return lines


def everything(run: Played) -> list[Path]:
    """Every file of the record."""
    return [path for path in run.play.layout.root.rglob("*") if path.is_file()]
