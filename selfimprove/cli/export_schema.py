"""`selfimprove export schema`: JSON Schema of every document."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from selfimprove.cli.common import echo_json

DOCUMENTS = {
    "plan": "plan:Plan",
    "benchmark_result": "benchmark:BenchmarkResult",
    "research_brief": "brief:ResearchBrief",
    "iteration_history": "history:HistoryRecord",
    "raw_data": "tracking:RawDataRow",
    "failure_analysis": "benchmark:FailureAnalysis",
    "iteration_state": "iteration:IterationState",
    "merge_report": "merge:MergeReport",
    "event_log": "tracking:TrackedEvent",
    "goal_phase": "goal:Phase",
    "goal": "goal:Goal",
    "baseline": "tracking:Baseline",
    "settings": "settings:Settings",
    "agent_settings": "agent:AgentSettings",
    "run": "agent:RunReport",
    "envelope": "envelope:Envelope",
    "critic_reply": "critique:CriticReply",
    "architect_review": "plan:ArchitectReview",
    "executor_output": "agent:ExecutorOutput",
    "quality_report": "critique:QualityReport",
    "gate": "critique:Gate",
    "verify_result": "verify:VerifyResult",
    "agent_request": "agent:AgentRequest",
    "agent_reply": "agent:AgentReply",
}
"""Document -> where its record is, below selfimprove.contracts."""
LISTS = frozenset({"raw_data", "event_log"})
"""Documents that are an array of their record."""


@click.command("schema")
def command() -> None:
    """JSON Schema of every document: one object, keyed by document name.

    \b
    Example:
      selfimprove export schema > schema.json
    """
    echo_json(schemas())


def schemas() -> dict[str, Any]:
    """The schema of each document, as it is read and written."""
    return {name: _schema(name, place) for name, place in DOCUMENTS.items()}


def _schema(name: str, place: str) -> dict[str, Any]:
    module, _, record = place.partition(":")
    cls: Any = getattr(import_module(f"selfimprove.contracts.{module}"), record)
    schema: dict[str, Any] = cls.model_json_schema(mode="validation")
    if name in LISTS:
        schema = {"type": "array", "items": {"$ref": f"#/$defs/{record}"},
                  "$defs": schema.pop("$defs", {}) | {record: schema}}  # fmt: skip
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
