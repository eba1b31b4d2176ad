"""What all rounds so far taught, in a few lines however many there were; pure.

Recent rounds are told whole elsewhere. Here each family comes to one record of its tries, and a
planner is told which dead ends are nearest to its plan. Likeness is advice: it refuses nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from heapq import nlargest
from itertools import islice
from typing import Any

from selfimprove.contracts.base import Direction

TOLD = 3
"""Of each family's latest losers, and of its best wins."""
HYPOTHESIS = 240
"""Characters of a hypothesis that are told."""
SHINGLE = 3
"""Words that make a shingle."""
NEAREST = 5
ALIKE = 0.25
"""Share of common shingles below which two plans have nothing to do with each other."""
DEAD_ENDS = frozenset({"lost", "regression", "error", "timeout", "disqualified"})

Row = Mapping[str, Any]


def lessons(rows: Sequence[Row], direction: Direction) -> list[dict[str, Any]]:
    """What came of each family, the most tried first; `rows` are all attempts, oldest first."""
    by_family: dict[str, list[Row]] = {}
    for row in rows:
        if row["outcome"] != "rejected":
            by_family.setdefault(row["approach_family"], []).append(row)
    ordered = sorted(by_family.items(), key=lambda item: (-len(item[1]), item[0]))
    return [_lesson(family, found, direction) for family, found in ordered]


def _lesson(family: str, rows: Sequence[Row], direction: Direction) -> dict[str, Any]:
    won = [row for row in rows if row["outcome"] == "won"]
    lost = (row for row in reversed(rows) if row["outcome"] in DEAD_ENDS)
    best = nlargest(TOLD, won, key=lambda row: _gain(row, direction))
    return {
        "family": family,
        "tried": len(rows),
        "won": len(won),
        "best_wins": [
            {"hypothesis": _short(row), "gain": round(_gain(row, direction), 6)} for row in best
        ],
        "latest_dead_ends": [
            {"hypothesis": _short(row), "outcome": row["outcome"]} for row in islice(lost, TOLD)
        ],
    }


def _gain(row: Row, direction: Direction) -> float:
    """How far a win moved the metric, in its own unit; more is better."""
    score, before = row.get("score"), row.get("incumbent_score")
    if score is None or before is None:
        return 0.0
    return float(score - before if direction == "higher_is_better" else before - score)


def nearest(plan: Mapping[str, Any], rows: Iterable[Row]) -> list[dict[str, Any]]:
    """The dead ends that are most like a plan, the likest first, by shingles of their words."""
    mine = shingles(_words(plan))
    likeness = ((_alike(mine, shingles(_words(row))), row) for row in rows if _dead(row))
    found = nlargest(
        NEAREST, (pair for pair in likeness if pair[0] >= ALIKE), key=lambda pair: pair[0]
    )
    return [
        {
            "plan_id": row["plan_id"],
            "alike": round(share, 2),
            "hypothesis": _short(row),
            "target_files": list(row["target_files"])[:NEAREST],
            "outcome": row["outcome"],
        }
        for share, row in found
    ]


def _dead(row: Row) -> bool:
    return row["outcome"] in DEAD_ENDS


def _alike(first: frozenset[int], second: frozenset[int]) -> float:
    """The share of shingles that two texts have in common (Jaccard)."""
    both = len(first & second)
    return both / (len(first) + len(second) - both) if both else 0.0


@lru_cache(maxsize=20_000)
def shingles(text: str) -> frozenset[int]:
    """The runs of a few words that a text is made of, as numbers."""
    words = text.casefold().split()
    if len(words) < SHINGLE:
        return frozenset({hash(tuple(words))})
    runs = zip(*(words[place:] for place in range(SHINGLE)), strict=False)
    return frozenset(map(hash, runs))


def _words(plan: Mapping[str, Any]) -> str:
    """What a plan says it does: its hypothesis, and each step's change."""
    steps = " ".join(step["change"] for step in plan["steps"])
    return f"{plan['hypothesis']} {steps}"[:4000]


def _short(row: Row) -> str:
    text = str(row["hypothesis"])
    return text if len(text) <= HYPOTHESIS else f"{text[: HYPOTHESIS - 1]}…"
