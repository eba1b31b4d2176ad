"""How sure planners were, and how often they were right; pure.

The score of stated chances is Brier's (Monthly Weather Review 78, 1950, for two outcomes): the mean
squared distance between the chance of a win and what came. 0 is perfect; who always says one half
gets 0.25, whatever comes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from statistics import mean, median
from typing import Any

from selfimprove.bench.stats import relative_gain
from selfimprove.contracts.base import Direction

Row = Mapping[str, Any]
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*%")
_READ = 200
"""Characters of an estimate in which a figure is looked for."""


def percents(estimate: str) -> list[float]:
    """The per cents that an estimate in words names, without their signs."""
    return [float(number) for number in _PERCENT.findall(estimate[:_READ])]


def calibrations(rows: Sequence[Row], direction: Direction) -> list[dict[str, Any]]:
    """What planners, then families, said beforehand and what came; `rows` are all attempts.

    Of each: `who`; `tried`, plans that were carried out and said how sure they were, or asserted
    what could be held against figures; `confidence`, the mean chance of a win that they stated;
    `won`, the share of those that won; `brier`; and where plans named per cents and were measured,
    `predicted` and `measured`, the medians of both; `asserted`, how often they asserted something,
    and `held`, the share of it that was true.
    """
    said = (row for row in rows if row["outcome"] != "rejected")
    told = [row for row in said if _sure(row) is not None or row.get("assertions")]
    planners = _grouped(told, lambda row: f"planner_{row['plan_id'].rpartition('_planner_')[2]}")
    families = _grouped(told, lambda row: str(row["approach_family"]))
    return [
        _calibration(who, found, direction)
        for groups in (planners, families)
        for who, found in sorted(groups.items())
    ]


def _grouped(rows: Iterable[Row], name: Any) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(name(row), []).append(row)
    return groups


def _calibration(who: str, rows: Sequence[Row], direction: Direction) -> dict[str, Any]:
    found: dict[str, Any] = {"who": who, "tried": len(rows)}
    pairs = [(s, float(row["outcome"] == "won")) for row in rows if (s := _sure(row)) is not None]
    if pairs:
        found["confidence"] = round(mean(sure for sure, _ in pairs), 3)
        found["won"] = round(mean(came for _, came in pairs), 3)
        found["brier"] = round(mean((sure - came) ** 2 for sure, came in pairs), 3)
    gains = [pair for row in rows if (pair := _gains(row, direction)) is not None]
    if gains:
        found["predicted"] = f"{median(predicted for predicted, _ in gains):.3g}%"
        found["measured"] = f"{median(measured for _, measured in gains):.3g}%"
    claims = [row["assertions"] for row in rows if row.get("assertions")]
    held = sum(claim["held"] for claim in claims)
    if many := held + sum(claim["failed"] for claim in claims):
        found["asserted"], found["held"] = many, round(held / many, 3)
    return found


def _sure(row: Row) -> float | None:
    found = row.get("confidence")
    return float(found) if found is not None else None


def _gains(row: Row, direction: Direction) -> tuple[float, float] | None:
    """Per cent that a plan expected, and what its candidate came to; None where either is not."""
    named = percents(str(row.get("estimated_impact", "")))
    score, before = row.get("score"), row.get("incumbent_score")
    if not named or score is None or not before:
        return None
    return mean(named), 100 * relative_gain(before, score, direction)
