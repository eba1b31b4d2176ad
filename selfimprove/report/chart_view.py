"""Where things stand in the chart: which scores are shown, and each candidate's place; pure."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from selfimprove.report.data import Attempt, BestPoint, ScoreHistory

CANDIDATE_REACH, TARGET_REACH = 1.0, 3.0
"""How far beyond what the best scores span the view goes for a candidate, and for the target."""
USUAL_TIMES = 4.0
SPREAD = 0.6
"""How much of a round's width its candidates may take."""


@dataclass(frozen=True)
class View:
    """The part of the score axis that is shown, and the candidates' places along the rounds."""

    low: float
    high: float
    marker_size: float
    places: dict[str, float]
    winners: dict[int, float]
    """Round -> place of its winner."""

    def shows(self, score: float) -> bool:
        """Whether a score lies in the view."""
        return self.low <= score <= self.high

    def inside(self, score: float) -> float:
        """The score, or the edge of the view that it lies beyond."""
        edge = (self.high - self.low) * 0.015
        return min(max(score, self.low + edge), self.high - edge)

    def x_of(self, attempt: Attempt) -> float:
        """Where a candidate stands along the rounds."""
        return self.places[attempt.plan_id]

    def x_of_best(self, point: BestPoint) -> float:
        """Where the best score changes: at the candidate that was merged."""
        return self.winners.get(point.iteration, float(point.iteration))


def view_of(history: ScoreHistory) -> View:
    """Choose what is shown: all that matters in full, what lies far off at the edge."""
    low, high = _span(history)
    rounds = max(history.last_round, 1)
    size = 46.0 if rounds <= 30 else 18.0 if rounds <= 200 else 8.0
    places = _places(history)
    winners = {a.iteration: places[a.plan_id] for a in history.attempts if a.winner}
    return View(low, high, size, places, winners)


def _span(history: ScoreHistory) -> tuple[float, float]:
    core = [point.score for point in history.best]
    if history.baseline is not None:
        core.append(history.baseline)
    measured = sorted(a.score for a in history.attempts if a.score is not None)
    core = core or measured[len(measured) // 2 :][:1] or [0.0, 1.0]
    low, high = min(core), max(core)
    reach = _reach(low, high, measured)
    wanted = [(score, reach * CANDIDATE_REACH) for score in measured]
    if history.target is not None:
        wanted.append((history.target, reach * TARGET_REACH))
    ends = [end for point in history.best if point.interval for end in point.interval]
    wanted += [(end, reach * CANDIDATE_REACH) for end in ends]
    for score, allowed in wanted:
        if min(core) - allowed <= score <= max(core) + allowed:
            low, high = min(low, score), max(high, score)
    margin = (high - low) * 0.08 or abs(high) * 0.05 or 1.0
    return low - margin, high + margin


def _reach(low: float, high: float, measured: list[float]) -> float:
    """What the best scores span, or some times a usual candidate's distance where that is more."""
    away = sorted(max(low - score, score - high, 0.0) for score in measured)
    usual = away[len(away) // 2] if away else 0.0
    return max(high - low, usual * USUAL_TIMES) or max(abs(high), 1e-9)


def _places(history: ScoreHistory) -> dict[str, float]:
    """The candidates of a round stand side by side, in the order of their rows."""
    rounds: dict[int, list[str]] = defaultdict(list)
    for attempt in history.attempts:
        rounds[attempt.iteration].append(attempt.plan_id)
    places = {}
    for number, plans in rounds.items():
        step = SPREAD / max(len(plans), 3)
        for index, plan in enumerate(plans):
            places[plan] = number + (index - (len(plans) - 1) / 2) * step
    return places
