"""State -> documents, pure: how the record looks to a reader."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from selfimprove.contracts.base import Record
from selfimprove.contracts.envelope import Envelope
from selfimprove.contracts.iteration import (
    ExecutionProgress,
    ExecutorProgress,
    IterationState,
    PlannerProgress,
    PlanningProgress,
    RecordingProgress,
    ResearchProgress,
    StepName,
    StepStatus,
    TournamentProgress,
)
from selfimprove.contracts.tracking import EventType, RawDataRow, TrackedEvent
from selfimprove.store import layout
from selfimprove.store.files import json_bytes, row_bytes
from selfimprove.store.state import Round, State

IMPROVEMENT_BRANCH = "improvement_branch"
"""`details.field` of an event that moved the improvement branch without a tournament."""
BRANCH_EVENTS = frozenset({"adopted", "restored", "retracted"})
_EVENT_TYPES: dict[str, EventType] = {
    "config_change": "config_change",
    **dict.fromkeys(BRANCH_EVENTS, "config_change"),
    "phase_transition": "phase_transition",
    "milestone_reached": "phase_transition",
}
"""Event of the journal that also stands in tracking/events.json -> its type there."""


@dataclass(frozen=True)
class Document:
    """One file of the record: unchanged while its source is the same object."""

    path: str
    source: object
    render: Callable[[], bytes]


def documents(state: State) -> list[Document]:
    """The whole-file documents that the state stands behind now."""
    found: list[Document] = []
    for path, record in (
        (layout.AGENT_SETTINGS, state.settings),
        (layout.BASELINE, state.baseline),
        (layout.RUN_REPORT, state.report),
    ):
        if record is not None:
            found.append(_of_record(path, record))
    if state.round is not None:
        found.extend(_of_round(state.round))
    return found


def _of_record(path: str, record: Record) -> Document:
    return Document(path, record, lambda: json_bytes(record.document()))


def _of_round(current: Round) -> Iterator[Document]:
    yield Document(
        layout.ITERATION_STATE,
        (current.updated_at, current.status),
        lambda: json_bytes(iteration_state(current).document()),
    )
    if current.brief:
        yield _of_record(layout.brief_path(current.number), current.brief)
    for name, planner in current.planners.items():
        if planner.plan:
            place = layout.archived_plan_path if current.history else layout.plan_path
            yield _of_record(place(current.number, name), planner.plan)
    for name, executor in current.executors.items():
        if executor.result:
            yield _of_record(layout.result_path(current.number, name), executor.result)
    if current.tournament.report:
        yield _of_record(layout.merge_report_path(current.number), current.tournament.report)
    if current.history:
        yield _of_record(layout.history_path(current.number), current.history)


def iteration_state(current: Round) -> IterationState:
    """The contract's iteration state of a round (data contracts, section 8)."""
    number = current.number
    report = current.tournament.report
    winner = report.winner if report else None
    return IterationState(
        iteration=number,
        status=current.status,
        current_step=current.step,
        started_at=current.started_at,
        updated_at=current.updated_at,
        research=ResearchProgress(
            status=_status(current, "research"),
            output_path=layout.brief_path(number) if current.brief else None,
            completed_at=current.step_done.get("research"),
        ),
        planning=_planning(current),
        execution=_execution(current),
        tournament=TournamentProgress(
            status=_status(current, "tournament"),
            winner=winner.executor_id if winner else None,
            winner_score=winner.score_after if winner else None,
            completed_at=current.step_done.get("tournament"),
        ),
        recording=RecordingProgress(
            status=_status(current, "recording"),
            history_path=layout.history_path(number) if current.history else None,
            visualization_updated=current.history is not None,
            cleanup_done="recording" in current.step_done,
        ),
        user_ideas_consumed=current.ideas,
    )


def _status(current: Round, step: StepName) -> StepStatus:
    if step in current.step_done:
        if step == "research" and current.brief is None:
            return "failed"
        return "completed"
    return "in_progress" if current.step == step else "pending"


def _planning(current: Round) -> PlanningProgress:
    plans = {
        name: PlannerProgress(
            status=planner.status,
            output_path=_plan_output(current, name) if planner.plan else None,
            critic_approved=bool(planner.plan and planner.plan.critic_approved),
        )
        for name, planner in current.planners.items()
    }
    return PlanningProgress(
        status=_status(current, "planning"),
        plans=plans,
        approved_count=sum(progress.critic_approved for progress in plans.values()),
        completed_at=current.step_done.get("planning"),
    )


def _plan_output(current: Round, planner: str) -> str:
    place = layout.archived_plan_path if current.history else layout.plan_path
    return place(current.number, planner)


def _execution(current: Round) -> ExecutionProgress:
    executors = {
        name: ExecutorProgress(
            status=executor.status,
            plan_id=executor.plan_id,
            output_path=layout.result_path(current.number, name) if executor.result else None,
            benchmark_score=executor.result.benchmark_score if executor.result else None,
        )
        for name, executor in current.executors.items()
    }
    return ExecutionProgress(
        status=_status(current, "execution"),
        executors=executors,
        completed_at=current.step_done.get("execution"),
    )


@dataclass(frozen=True)
class Rows:
    """What one envelope adds to the documents that grow by rows."""

    raw_data: list[bytes]
    events: list[bytes]
    attempts: list[bytes]


def rows(envelope: Envelope) -> Rows:
    """The rows that an envelope adds; most add none."""
    payload: dict[str, Any] = envelope.payload
    event = payload.get("event") if envelope.type == "control" else None
    raw_data, events, attempts = [], [], []
    if event == "recorded":
        raw_data = [
            row_bytes(RawDataRow.parse(row, envelope.id).document()) for row in payload["rows"]
        ]
        attempts = [row_bytes(row) for row in payload["attempts"]]
    elif event in _EVENT_TYPES:
        events = [row_bytes(tracked(envelope, str(event)).document())]
    return Rows(raw_data, events, attempts)


def tracked(envelope: Envelope, event: str) -> TrackedEvent:
    """A journaled event in the contract's terms, which know of two types alone."""
    payload, details = envelope.payload, envelope.payload["details"]
    if event in BRANCH_EVENTS:
        details = {
            "field": IMPROVEMENT_BRANCH,
            "old_value": details.get("was"),
            "new_value": payload["published"],
            "source": "user",
            **details,
        }
    return TrackedEvent(
        timestamp=envelope.timestamp,
        event_type=_EVENT_TYPES[event],
        iteration=payload["iteration"],
        details=details,
    )
