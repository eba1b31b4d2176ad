"""Reading the documents of a root for reports; every one is checked against its contract."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from selfimprove.contracts.base import Record
from selfimprove.contracts.benchmark import BenchmarkResult
from selfimprove.contracts.history import HistoryRecord
from selfimprove.contracts.merge import MergeReport
from selfimprove.contracts.tracking import Baseline, RawDataRow, TrackedEvent
from selfimprove.errors import ConfigError, ContractError
from selfimprove.report import gains
from selfimprove.report.data import Extras, ScoreHistory, Subject, score_history
from selfimprove.store import layout
from selfimprove.store.attempts import Attempts
from selfimprove.store.layout import Layout
from selfimprove.store.record import load_state
from selfimprove.store.state import State

WITH_INTERVALS = 60
"""Rounds up to which candidates' intervals are drawn: results are large, whiskers small."""
R = TypeVar("R", bound=Record)
_NUMBER = re.compile(r"round_(\d+)")
_REBUILD = "run `selfimprove validate --rebuild`"


def read_document(root: Layout, path: str, record: type[R]) -> R | None:
    """One document below the root, or None where it is not there; raises ContractError."""
    file = root.root / path
    return record.parse_json(file.read_bytes(), str(file)) if file.is_file() else None


def read_rows(root: Layout, path: str, record: type[R]) -> list[R]:
    """A document that is a list of rows; empty where it is not there."""
    file = root.root / path
    if not file.is_file():
        return []
    data = file.read_bytes()
    try:
        return TypeAdapter(list[record]).validate_json(data)  # type: ignore[valid-type]
    except ValidationError:
        return _told(data, file, record)


def _told(data: bytes, file: Path, record: type[R]) -> list[R]:
    """Read rows one by one, for the words of what does not fit; raises ContractError."""
    try:
        rows: Any = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ContractError(f"{file}: not JSON: {error}", _REBUILD) from None
    if not isinstance(rows, list):
        raise ContractError(f"{file}: it should be a list of rows", _REBUILD)
    return [record.parse(row, f"{file}: row {number}") for number, row in enumerate(rows, 1)]


def _numbered(root: Layout, pattern: str, record: type[R], last: int = 0) -> list[R]:
    def number(file: Path) -> int:
        found = _NUMBER.search(file.relative_to(root.root).as_posix())
        return int(found[1]) if found else 0

    files = sorted(root.root.glob(pattern), key=lambda file: (number(file), file.name))[-last:]
    return [record.parse_json(file.read_bytes(), str(file)) for file in files]


def read_reports(root: Layout) -> list[MergeReport]:
    """Every merge report, in order of rounds."""
    return _numbered(root, "state/merge_reports/round_*.json", MergeReport)


def _reports_of_wins(root: Layout, state: State, rows: Iterable[RawDataRow]) -> list[MergeReport]:
    """Those of rounds that merged: most of thousands did not, and theirs are not opened."""
    rounds = {row.iteration for row in rows if row.is_winner} | {state.number}
    found = (
        read_document(root, layout.merge_report_path(number), MergeReport)
        for number in sorted(rounds)
    )
    return [report for report in found if report is not None]


def read_history(root: Layout, last: int = 0) -> list[HistoryRecord]:
    """Every history record, or so many of the last ones, in order of rounds."""
    return _numbered(root, "state/iteration_history/round_*.json", HistoryRecord, last)


def read_results(root: Layout) -> list[BenchmarkResult]:
    """Every benchmark result, in order of rounds."""
    return _numbered(root, "state/results/round_*/executor_*.json", BenchmarkResult)


def read_calibrations(root: Layout, state: State) -> list[dict[str, Any]]:
    """How sure planners were and how often they were right, of all attempts there were."""
    from selfimprove.review.calibration import calibrations

    if state.facts is None:
        return []
    return calibrations(Attempts(root.attempts).rows(), state.facts.direction)


def load_history(root: Layout, state: State | None = None) -> ScoreHistory:
    """The scores of a run as its documents tell them; raises ConfigError before any set-up."""
    state = state or load_state(root)
    if state.facts is None:
        raise ConfigError(f"{root.root}: no run has been set up here", "run `selfimprove run`")
    facts = state.facts
    subject = Subject(
        metric=facts.metric,
        unit=facts.unit,
        direction=facts.direction,
        target=facts.target_value,
        title=facts.objective.strip().partition("\n")[0],
    )
    rows = read_rows(root, layout.RAW_DATA, RawDataRow)
    results = read_results(root) if state.number <= WITH_INTERVALS else []
    return score_history(
        subject,
        rows,
        read_document(root, layout.BASELINE, Baseline),
        _reports_of_wins(root, state, rows),
        Extras(
            tuple(results),
            tuple(read_rows(root, layout.EVENTS, TrackedEvent)),
            gains.reported(state),
            frozenset(
                row["plan_id"]
                for row in Attempts(root.attempts).rows()
                if row["outcome"] == "disqualified"
            ),
        ),
    )
