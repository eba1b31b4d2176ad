"""Which idea to try next, and with which value: learns from every result, losers too.

Nothing is remembered between calls: what is known is rebuilt from the attempts of the request, so
a resumed run goes on as if it had never stopped.
"""

from __future__ import annotations

import math
from ast import literal_eval
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from selfimprove.agents.offline.attempts import INSENSITIVE, Attempt, is_repeat, rule_of
from selfimprove.agents.offline.idea import SET_VALUE, ChangeIdea
from selfimprove.agents.offline.profile import Profile

if TYPE_CHECKING:
    from optuna.trial import Trial

FAILED = ("error", "timeout", "disqualified")
ENOUGH_RESULTS = 3
"""Results of one number from which on a model of it proposes values between and beyond."""
MOST_RESULTS = 10
"""Results of one constant after which it is left alone."""
NEAR = math.log(1.25)
SMALL = 8
MOST_FAILURES = 2
"""Failures of one constant, none of its values having worked, after which it is a fact."""
PROPOSALS = 24


@dataclass(frozen=True)
class Choice:
    """One idea, with the value that is to be tried."""

    idea: ChangeIdea
    value: str | None
    weight: float


@dataclass(frozen=True)
class Chooser:
    """Ranks ideas by what is known of them."""

    attempts: tuple[Attempt, ...]
    profile: Profile
    seed: int
    asked: tuple[str, ...] = ()
    """Keys of ideas that a person wrote: they come first, in their order."""

    def ranked(self, ideas: Iterable[ChangeIdea]) -> list[ChangeIdea]:
        """Give the ideas with something left to try, the most promising first."""
        weighed = [(self.weight(idea), idea) for idea in ideas]
        weighed.sort(key=lambda one: (-one[0], one[1].path, one[1].line, one[1].name))
        return [idea for weight, idea in weighed if weight > 0]

    def choices(self, ideas: Iterable[ChangeIdea], limit: int) -> list[Choice]:
        """Give up to `limit` changes that were never tried, the most promising first."""
        found: list[Choice] = []
        for idea in self.ranked(ideas):
            if idea.tool == SET_VALUE:
                value = self.value(idea)
                if value is None:
                    continue
            else:
                value = None
                if is_repeat(idea, None, self.attempts):
                    continue
            found.append(Choice(idea, value, self.weight(idea)))
            if len(found) == limit:
                break
        return found

    def weight(self, idea: ChangeIdea) -> float:
        """Say how much an idea promises: prior, where time goes, and what results have shown."""
        if idea.key in self.asked:
            return 10.0 - self.asked.index(idea.key) / 1000
        heat = self.profile.heat(idea.path, idea.users or (idea.symbol,))
        if not idea.path.endswith(".py") and self.profile.functions:
            heat = 0.35  # a profile of Python says nothing of it
        doubt = 1.0 if idea.safe else 0.75
        return idea.prior * heat * doubt * self._luck(idea)

    def _luck(self, idea: ChangeIdea) -> float:
        own = [attempt for attempt in self.attempts if attempt.key == idea.key]
        rule = idea.name.split("#")[0].rsplit(".", 1)[-1]
        rule = rule if idea.tool == SET_VALUE else rule_of(idea.name)
        alike = [a for a in self.attempts if a.rule == rule and a.key != idea.key]
        luck = math.prod(_lesson(attempt) for attempt in own)
        others = math.prod(math.sqrt(_lesson(attempt)) for attempt in alike)
        return max(0.02, min(luck, 3.0)) * max(0.3, min(others, 1.5))

    def value(self, idea: ChangeIdea) -> str | None:
        """Choose the value of a constant to try next; None where nothing is left."""
        own = [attempt for attempt in self.attempts if attempt.key == idea.key]
        left = [v for v in idea.values if v != idea.old and not is_repeat(idea, v, self.attempts)]
        if idea.key in self.asked:
            return left[0] if left else None
        levels = _levels(own)
        measured = sum(1 for attempt in own if attempt.gain is not None)
        failed = sum(1 for attempt in own if attempt.gain is None and attempt.outcome in FAILED)
        if measured >= MOST_RESULTS or (failed >= MOST_FAILURES and not measured):
            return None
        numeric = {n: level for v, level in levels.items() if (n := _number(v)) is not None}
        if measured >= ENOUGH_RESULTS and len(numeric) > ENOUGH_RESULTS:
            if max(abs(level) for level in levels.values()) < INSENSITIVE:
                return None  # it was given a fair trial, and hardly matters
            tried = [_number(value) for attempt in own for value in (attempt.old, attempt.new)]
            return self._propose(numeric, [value for value in tried if value and value > 0])
        return _onwards(left, own)

    def _propose(self, levels: dict[float, float], tried: list[float]) -> str | None:
        """Ask Optuna, told all results of this constant, for a value that was not tried."""
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        whole = all(float(value).is_integer() for value in levels)
        known = sorted(value for value in levels if value > 0)
        if not known:
            return None
        low, high = _bracket(known, levels)
        sampler = optuna.samplers.TPESampler(seed=self.seed, n_startup_trials=ENOUGH_RESULTS + 1)
        study = optuna.create_study(direction="maximize", sampler=sampler)
        for value, level in levels.items():
            if low <= value <= high:  # what lies outside has drawn the bracket
                study.enqueue_trial({"value": int(value) if whole else value})
                trial = study.ask()
                _suggest(trial, whole, low, high)
                study.tell(trial, level)
        for _ in range(PROPOSALS):
            trial = study.ask()
            proposed = _suggest(trial, whole, low, high)
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
            if _is_news(proposed, tried):
                return repr(proposed)
        best = max(known, key=lambda value: levels[value])
        middles = [math.sqrt(best * high), math.sqrt(best * low)]
        rounded = [round(m) if whole else float(f"{m:.4g}") for m in middles]
        return next((repr(middle) for middle in rounded if _is_news(middle, tried)), None)


def _bracket(known: list[float], levels: dict[float, float]) -> tuple[float, float]:
    """Give the values around the best one between which a better one is looked for."""
    best = max(known, key=lambda value: levels[value])
    at = known.index(best)
    left = known[at - 1] if at else best / 4
    right = known[at + 1] if at + 1 < len(known) else best * 4
    return left, right


def seed_of(session_id: str) -> int:
    """A seed that is the same for the same session."""
    return int.from_bytes(sha256(session_id.encode()).digest()[:4], "big")


def _is_news(value: float, known: Sequence[float]) -> bool:
    """Whether a value is far enough from all that were tried for its effect to be told apart."""
    if value <= 0:
        return False
    return all(
        abs(math.log(value / each)) > NEAR or (value <= SMALL and abs(value - each) >= 1)
        for each in known
    )


def _suggest(trial: Trial, whole: bool, low: float, high: float) -> int | float:
    if whole:
        return trial.suggest_int("value", max(1, int(low)), max(2, int(high)), log=True)
    return float(f"{trial.suggest_float('value', low, high, log=True):.4g}")


def _lesson(attempt: Attempt) -> float:
    """What one result says of trying the same again: more than 1 is encouragement."""
    if attempt.won:
        return 1.5
    if attempt.outcome == "rejected":
        return 0.9
    if attempt.gain is None:
        return 0.25
    if abs(attempt.gain) < INSENSITIVE:
        return 0.4
    return 0.9 if attempt.gain > 0 else 0.6


def _levels(attempts: Sequence[Attempt]) -> dict[str, float]:
    """Put the values of one constant on one scale, though each was measured against its time's."""
    levels: dict[str, float] = {}
    for attempt in attempts:
        if attempt.gain is not None:
            base = levels.setdefault(attempt.old, 0.0)
            levels[attempt.new] = base + attempt.gain
    return levels


def _onwards(left: list[str], attempts: Sequence[Attempt]) -> str | None:
    """Prefer the side on which it got better so far; else the order in which values come."""
    if not left:
        return None
    slope, current = 0.0, None
    for attempt in attempts:
        old, new = _number(attempt.old), _number(attempt.new)
        if old is not None and new is not None and attempt.gain is not None:
            slope += attempt.gain if new > old else -attempt.gain
            current = new if attempt.won else old
    if not slope or current is None:
        return left[0]
    start = current
    return min(
        left,
        key=lambda v: ((_number(v) or start) - start) * slope <= 0,
    )


def _number(literal: str) -> float | None:
    try:
        value = literal_eval(literal)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
