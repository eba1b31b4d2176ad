"""Compares runs: their documents and refs, with times, ids and durations taken out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from selfimprove.store.layout import Layout
from selfimprove.testing.rehearsal import Rehearsal

VOLATILE = frozenset(
    {
        "timestamp",
        "started_at",
        "updated_at",
        "completed_at",
        "duration_s",
        "memory_mb",
        "run_id",
        "commit",
        "merge_commit",
        "base",
        "at",
    }
)
"""What differs between two runs that did the same. A commit's id holds its date."""
_OWN = ("state/journal/", "state/replies/")


def files(layout: Layout) -> dict[str, bytes]:
    """Give every document that the journal stands behind, by path, as its bytes."""
    return {path: (layout.root / path).read_bytes() for path in _paths(layout.root)}


def _paths(root: Path) -> Iterator[str]:
    for folder in ("state", "tracking", "plans"):
        for file in sorted((root / folder).rglob("*.json*")):
            path = file.relative_to(root).as_posix()
            if not path.startswith(_OWN):
                yield path


def settled(play: Rehearsal) -> dict[str, Any]:
    """Give what a run came to: its documents and refs, what is volatile taken out."""
    found: dict[str, Any] = {}
    for path, data in files(play.layout).items():
        rows = [json.loads(line) for line in data.splitlines()] if path.endswith("l") else None
        found[path] = stripped(json.loads(data) if rows is None else rows)
    if report := found.get("state/run.json"):
        del report["spans"]  # agents that worked at once came back in any order
        report.pop("cost_per_win", None)  # the totals, divided
        for spent in (report["totals"], *report.get("models", {}).values()):
            spent["calls"] -= _lost(play.layout)  # one script plays every role
    for ref in play.refs():
        if not ref.startswith("refs/selfimprove/"):  # has a commit more for each stop
            found[ref] = story(play, ref)
    return found


def _lost(layout: Layout) -> int:
    """Give how many calls of a process that ended were booked, and made again."""
    lines = [
        line for file in layout.journal.glob("*.jsonl") for line in file.read_text().split("\n")
    ]
    told = [json.loads(line)["payload"] for line in lines if '"kind":"lost"' in line]
    return sum(int(each["metrics"]["calls"]) for each in told)


def story(play: Rehearsal, ref: str) -> list[str]:
    """Give the tree and message of every commit that a ref holds, newest first."""
    told = play.repository.git("log", "--topo-order", "--format=%T %P%n%B%x00", ref)
    return [re.sub(r"\b[0-9a-f]{40}\b", "", each[40:]) + each[:41] for each in told.split("\0")]


def stripped(value: Any, volatile: frozenset[str] = VOLATILE) -> Any:
    """Give the same document without what is volatile."""
    if isinstance(value, dict):
        return {k: "" if k in volatile else stripped(v, volatile) for k, v in value.items()}
    if isinstance(value, list):
        return [stripped(each, volatile) for each in value]
    return value
