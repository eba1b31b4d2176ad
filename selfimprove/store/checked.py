"""Which data contract each document of a root must fit, and what is wrong where it does not."""

from __future__ import annotations

import json

from selfimprove.contracts.agent import AgentSettings, RunReport
from selfimprove.contracts.base import Record
from selfimprove.contracts.benchmark import BenchmarkResult
from selfimprove.contracts.brief import ResearchBrief
from selfimprove.contracts.history import HistoryRecord
from selfimprove.contracts.iteration import IterationState
from selfimprove.contracts.merge import MergeReport
from selfimprove.contracts.plan import Plan
from selfimprove.contracts.tracking import Baseline, RawDataRow, TrackedEvent
from selfimprove.errors import ContractError
from selfimprove.store import layout

CONTRACTS: dict[str, type[Record]] = {
    layout.AGENT_SETTINGS: AgentSettings,
    layout.ITERATION_STATE: IterationState,
    layout.RUN_REPORT: RunReport,
    layout.BASELINE: Baseline,
    "state/research_briefs/": ResearchBrief,
    "plans/": Plan,
    "state/plan_archive/": Plan,
    "state/results/": BenchmarkResult,
    "state/merge_reports/": MergeReport,
    "state/iteration_history/": HistoryRecord,
}
"""A document, or a folder of documents -> its contract."""
ROWS: dict[str, type[Record]] = {layout.RAW_DATA: RawDataRow, layout.EVENTS: TrackedEvent}
"""Documents that are lists of rows -> the contract of a row."""


def misfit(path: str, data: bytes) -> str:
    """Path, field and reason where a document does not fit its contract; empty where it does."""
    try:
        _check(path, data)
    except ContractError as error:
        return str(error)
    return ""


def _check(path: str, data: bytes) -> None:
    if path == layout.ATTEMPTS:
        for number, line in enumerate(data.splitlines(), 1):
            _json(f"{path}:{number}", line)
    elif path in ROWS:
        rows = _json(path, data)
        if not isinstance(rows, list):
            raise ContractError(f"{path}: it should be a list of rows", _REBUILD)
        for number, row in enumerate(rows, 1):
            ROWS[path].parse(row, f"{path}: row {number}")
    else:
        found = (record for start, record in CONTRACTS.items() if path.startswith(start))
        record = next(found, None)
        if record is not None:
            record.parse(_json(path, data), path)


_REBUILD = "`selfimprove validate --rebuild` restores it"


def _json(where: str, data: bytes) -> object:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ContractError(f"{where}: not JSON: {error}", _REBUILD) from None
