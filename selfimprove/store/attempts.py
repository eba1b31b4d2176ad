"""The index of everything tried: look-ups that grow without bound, and can be rebuilt."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from selfimprove.contracts.base import Direction

T = TypeVar("T")
Row = dict[str, Any]
"""One plan of one round: plan_id, round, approach_family, hypothesis, target_files, steps,
tool_plan, estimated_impact, confidence, avoids, parent, tree, score, incumbent_score, outcome;
where there is something to tell, `experiment` and `assertions` {held, failed}."""

BEST, LAST = 100, 300
"""How many of the best and of the latest rows a chooser is shown."""


class Attempts:
    """Reads the index as it grows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._rows: list[Row] = []
        self._made: tuple[int, Any] = (-1, None)

    def rows(self) -> list[Row]:
        """Every row so far, oldest first; only what was added since the last call is read."""
        if not self._path.exists():
            return self._rows
        size = self._path.stat().st_size
        if size < self._offset:
            self._offset, self._rows = 0, []
        if size > self._offset:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
            whole = data[: data.rfind(b"\n") + 1]
            self._rows.extend(json.loads(line) for line in whole.splitlines())
            self._offset += len(whole)
        return self._rows

    def made_once(self, make: Callable[[list[Row]], T]) -> T:
        """What is made of all rows; again only where there are more of them. For one maker."""
        many = len(self.rows())
        if self._made[0] != many:
            self._made = (many, make(self._rows))
        made: T = self._made[1]
        return made

    def best_and_last(self, direction: Direction) -> list[Row]:
        """The best measured rows and the latest ones, oldest first, none twice."""
        rows = self.rows()
        if len(rows) <= LAST:
            return list(rows)
        measured = [row for row in rows[:-LAST] if row["score"] is not None]
        sign = -1 if direction == "higher_is_better" else 1
        best = sorted(measured, key=lambda row: sign * row["score"])[:BEST]
        wanted = {row["plan_id"] for row in best}
        return [row for row in rows[:-LAST] if row["plan_id"] in wanted] + rows[-LAST:]

    def measured_before(self, parent: str, tree: str) -> Row | None:
        """The loser that changed the same parent tree into the same tree, if any."""
        return next(
            (
                row
                for row in reversed(self.rows())
                if row["tree"] == tree and row["parent"] == parent and row["score"] is not None
            ),
            None,
        )
