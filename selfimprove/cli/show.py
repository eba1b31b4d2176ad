"""`selfimprove show`: one round, plan, result or merge report."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from selfimprove.cli.common import Where, echo_json, json_option, repo_argument, where_options
from selfimprove.cli.ids import EXAMPLES, Named, parse_id
from selfimprove.errors import UsageError

if TYPE_CHECKING:
    from selfimprove.contracts.base import Record
    from selfimprove.store.layout import Layout


@click.command("show")
@click.argument("name", metavar="ID")
@repo_argument
@where_options
@json_option
def command(where: Where, name: str, as_json: bool) -> None:
    """One round, plan, result or merge report, by its id.

    \b
    Example:
      selfimprove show round_3
      selfimprove show round_3_planner_b
      selfimprove show round_3_executor_2 path/to/repository --json
      selfimprove show merge_3
    """
    named = parse_id(name)
    layout = where.layout()
    found = document(layout, named)
    if not found:
        raise UsageError(f"{name}: not in {layout.root}", f"give {EXAMPLES} of a round that ran")
    if as_json:
        echo_json(found)
        return
    for line in _merge(found) if named.kind == "merge" else _told(found):
        click.echo(line)


def document(root: Layout, named: Named) -> dict[str, Any]:
    """The documents behind an id, checked; empty where there are none."""
    from selfimprove.contracts.benchmark import BenchmarkResult
    from selfimprove.contracts.merge import MergeReport
    from selfimprove.contracts.plan import Plan
    from selfimprove.store import layout as at

    number = named.round
    if named.kind == "merge":
        return _read(root, at.merge_report_path(number), MergeReport)
    if named.kind == "planner":
        archived = _read(root, at.archived_plan_path(number, named.agent), Plan)
        return archived or _read(root, at.plan_path(number, named.agent), Plan)
    if named.kind == "executor":
        return _read(root, at.result_path(number, named.agent), BenchmarkResult)
    if named.kind == "round":
        return _round(root, number)
    raise UsageError(f"round_{number}_{named.agent} has no document", f"give {EXAMPLES}")


def _read(root: Layout, path: str, record: type[Record]) -> dict[str, Any]:
    from selfimprove.report.sources import read_document

    found = read_document(root, path, record)
    return found.document() if found else {}


def _round(root: Layout, number: int) -> dict[str, Any]:
    from selfimprove.contracts.brief import ResearchBrief
    from selfimprove.contracts.history import HistoryRecord
    from selfimprove.store import layout as at

    plans = {name: _one(root, number, name) for name in sorted(_plans(root, number))}
    results = {
        path.stem: _one(root, number, path.stem)
        for path in sorted((root.root / f"state/results/round_{number}").glob("executor_*.json"))
    }
    parts = {
        "history": _read(root, at.history_path(number), HistoryRecord),
        "merge_report": document(root, Named(number, "merge")),
        "brief": _read(root, at.brief_path(number), ResearchBrief),
        "plans": plans,
        "results": results,
    }
    return {name: part for name, part in parts.items() if part}


def _one(root: Layout, number: int, agent: str) -> dict[str, Any]:
    return document(root, Named(number, agent.partition("_")[0], agent))


def _plans(root: Layout, number: int) -> Iterator[str]:
    for folder in (f"state/plan_archive/round_{number}", f"plans/round_{number}"):
        for path in (root.root / folder).glob("plan_planner_*.json"):
            yield path.stem.removeprefix("plan_")


def _merge(found: dict[str, Any]) -> Iterator[str]:
    """A merge report as the decision it records."""
    from selfimprove.contracts.merge import MergeReport
    from selfimprove.report.decision import explained

    yield from explained(MergeReport.parse(found, "merge report"))


def _told(value: Any, indent: str = "") -> Iterator[str]:
    """A document as indented `name: value` lines: every field, in contract order."""
    from selfimprove.report.plain import clean

    pairs = (
        value.items() if isinstance(value, dict) else ((str(k), v) for k, v in enumerate(value, 1))
    )
    for name, part in pairs:
        if isinstance(part, dict | list) and part:
            yield f"{indent}{name}:"
            yield from _told(part, indent + "  ")
        elif isinstance(part, str) and "\n" in part.strip():
            yield f"{indent}{name}:"
            yield from (f"{indent}  {line}" for line in clean(part).rstrip().splitlines())
        else:
            plain = clean(part).strip() if isinstance(part, str) else json.dumps(part)
            yield f"{indent}{name}: {plain}"
