"""What a confirmation decided and why, and what the closing pairs say of the gain."""

from __future__ import annotations

from typing import ClassVar, Literal

from selfimprove.contracts.base import Direction, Record

Outcome = Literal["win", "loss", "indecisive", "more"]
"""`more`: the question is open and more pairs are wanted."""
Scale = Literal["ratio", "difference"]
"""Scores that are all above zero are compared by their ratio, others by their difference."""
HOLDOUT_QUESTIONS = 32
"""So often a run may ask the held-out benchmark; every answer tells a little of it."""
HOLDOUT_STEP = 0.002
"""By how much more each further candidate must gain there for every one that was refused: who
probes what is held out pays for it."""


def holdout_bar(refused: int) -> float:
    """The relative gain on the held-out benchmark that a candidate must exceed."""
    return HOLDOUT_STEP * refused


class Trial(Record):
    """What a confirmation is to decide; fixed before its first pair is measured."""

    direction: Direction
    stake: float = 0.05
    """The share of the round's error that this candidate may use up."""
    max_pairs: int = 32
    min_effect: float = 0.0
    """The gain that must be exceeded."""
    relative: bool = True
    """Whether `min_effect` is a share of the incumbent's score or a plain difference."""
    deterministic: bool = False


class Look(Record):
    """One look at the pairs measured until then."""

    pairs: int
    p: float
    """How often luck alone, as a coin for each pair, would do as well at this look."""
    needed: float
    """The largest `p` that wins at this look; 0 where no result could."""
    chance: float
    """The chance of a win by `max_pairs`, on a hopeful view of the gain."""


class Judgement(Record):
    """The verdict on a candidate, with everything it rests on."""

    outcome: Outcome
    reason: str
    pairs: int
    """Pairs the verdict rests on."""
    wanted: int
    """Pairs to measure before the next look; 0 when settled."""
    scale: Scale
    looks: list[Look]
    stake: float
    gain: float | None
    """Median gain of the pairs: it decided, so it flatters; for the record only."""
    score_before: float | None
    """Median of the incumbent's runs."""
    score_after: float | None


class Stake(Record):
    """What one confirmation of the round was given, and whether it ended in a merge."""

    stake: float
    merged: bool


class Estimate(Record):
    """A gain and a score from pairs that decided nothing."""

    additions: ClassVar[frozenset[str]] = frozenset({"before"})

    scale: Scale
    pairs: int
    level: float
    """How often an interval made like this holds the truth."""
    gain: float
    """Mean gain as a share of the incumbent (plain where that is near zero); below zero: worse."""
    low: float
    high: float
    score: float
    """Mean of the candidate's runs (the geometric one where ratios are compared)."""
    score_low: float
    score_high: float
    before: float | None = None
    """The incumbent's score that `gain` is a share of, where differences are compared."""
