"""What was tried before, as the chooser learns from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from selfimprove.agents.offline.idea import APPLY_CODEMOD, SET_VALUE, ChangeIdea

INSENSITIVE = 0.003
"""A relative change smaller than this says that a value hardly matters."""


@dataclass(frozen=True)
class Attempt:
    """One earlier candidate of this agent's kind, or of a plan with a change of that form."""

    plan_id: str
    round: int
    outcome: str
    gain: float | None
    """Relative to the incumbent it was measured against, better is positive; None: no score."""
    key: str
    rule: str
    path: str
    old: str
    new: str
    edits: frozenset[tuple[str, str]] = frozenset()
    hypothesis: str = ""

    @property
    def won(self) -> bool:
        """Whether it was merged."""
        return self.outcome == "won"


def attempts_of(context: Mapping[str, Any]) -> tuple[Attempt, ...]:
    """Read the rows of a request's context, in the order they were made."""
    direction = ((context.get("goal") or {}).get("metric") or {}).get("direction", "")
    sign = -1.0 if direction == "lower_is_better" else 1.0
    rows = [row for row in context.get("attempts") or () if isinstance(row, Mapping)]
    found = [attempt for row in rows for attempt in _read(row, sign)]
    return tuple(sorted(found, key=lambda attempt: (attempt.round, attempt.plan_id)))


def is_repeat(idea: ChangeIdea, value: str | None, attempts: tuple[Attempt, ...]) -> bool:
    """Whether this very change of this very file was made before, whatever came of it."""
    edits = frozenset((hunk.old, hunk.new) for hunk in idea.hunks)
    for attempt in attempts:
        if attempt.path != idea.path:
            continue
        if idea.tool == SET_VALUE and attempt.key == idea.key:
            if value in (attempt.new, attempt.old):
                return True
        elif idea.tool == APPLY_CODEMOD and attempt.edits and attempt.edits == edits:
            return True
    return False


def _read(row: Mapping[str, Any], sign: float) -> Iterator[Attempt]:
    for use in row.get("tool_plan") or ():
        args = use.get("args") if isinstance(use, Mapping) else None
        if not isinstance(args, Mapping) or use.get("tool") not in (SET_VALUE, APPLY_CODEMOD):
            continue
        path = str(args.get("path", ""))
        name = str(args.get("name") or args.get("rule") or "")
        tunable = use["tool"] == SET_VALUE
        edits = [edit for edit in args.get("edits") or () if isinstance(edit, Mapping)]
        yield Attempt(
            plan_id=str(row.get("plan_id", "")),
            round=int(row.get("round") or 0),
            outcome=str(row.get("outcome", "")),
            gain=_gain(row.get("score"), row.get("incumbent_score"), sign),
            key=f"{path}::{name}" if tunable else f"{path}::{name}@{args.get('symbol', '')}",
            rule=name.rsplit(".", 1)[-1] if tunable else rule_of(name),
            path=path,
            old=str(args.get("old", "")),
            new=str(args.get("new", "")),
            edits=frozenset((str(e.get("old", "")), str(e.get("new", ""))) for e in edits),
            hypothesis=str(row.get("hypothesis", "")),
        )


def rule_of(name: str) -> str:
    """The kind of a codemod, without what it was applied to: `ruff PERF401`, `hoist-set`."""
    words = name.split()
    return " ".join(words[:2]) if words[:1] == ["ruff"] else (words or [""])[0]


def _gain(score: Any, incumbent: Any, sign: float) -> float | None:
    if not isinstance(score, int | float) or not isinstance(incumbent, int | float):
        return None
    base = abs(incumbent) if abs(incumbent) > 1e-12 else 1.0
    return sign * (score - incumbent) / base
