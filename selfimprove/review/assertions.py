"""What plans assert, held against what was measured; pure.

Only expressions can be held against figures. What is asserted in words is recorded as such.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from selfimprove.bench.conditions import bounds, holds, shown
from selfimprove.bench.stats import relative_gain
from selfimprove.contracts.base import Direction
from selfimprove.contracts.benchmark import Assertion, BenchmarkResult
from selfimprove.errors import ConfigError
from selfimprove.expressions import expression

MOST = 20
"""Assertions of one plan that are looked at; agents write them."""
LENGTH = 300
DIGITS = 9
"""Of a gain: from 100 to 90 is 0.1, whatever floats make of it."""


def values(
    result: BenchmarkResult, metric: str, direction: Direction, incumbent: float, files: int
) -> dict[str, Any]:
    """What an assertion may speak of: the means of a measured candidate's runs, and its gain."""
    assert result.benchmark_score is not None
    assert result.measurement is not None
    score = result.benchmark_score
    return {
        **bounds(result.measurement.samples, metric, files, 0),
        metric: score,
        "score": score,
        "incumbent": incumbent,
        "gain": round(relative_gain(incumbent, score, direction), DIGITS),
    }


def asserted(texts: Sequence[str], known: dict[str, Any]) -> list[Assertion]:
    """Each assertion with its truth, where these values tell it."""
    return [_judged(text[:LENGTH], known) for text in texts[:MOST]]


def _judged(text: str, known: dict[str, Any]) -> Assertion:
    meant = expression(text) if len(text) < LENGTH else None
    if meant is None:
        return Assertion(text=text, why="in words: no expression over what is measured")
    try:
        answer = holds(meant, known)
    except ConfigError:
        answer = None
    if answer is None:
        return Assertion(text=text, why="it speaks of something that is not measured")
    return Assertion(text=text, holds=answer, why="" if answer else shown(meant, known))


def counted(assertions: Sequence[Assertion]) -> dict[str, int]:
    """How many held and how many did not; empty where nobody could tell of any."""
    told = [each.holds for each in assertions if each.holds is not None]
    return {"held": sum(told), "failed": len(told) - sum(told)} if told else {}
