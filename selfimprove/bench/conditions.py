"""Constraints and declared sub-scores, judged on the pairs of a confirmation; pure.

A constraint is an expression (Common Expression Language) over `score`, the metric's own name,
every sub-score, `sub_scores`, `files_changed`, `duration_s` and `memory_mb`. What is noisy is not
refused for one bad sample: a candidate is refused only where the expression is false over the whole
interval of its values, and a declared sub-score only where the interval of its loss lies beyond
the tolerance.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from selfimprove.bench import estimate
from selfimprove.bench.stats import mean, relative_gain
from selfimprove.contracts.benchmark import Pair, Sample
from selfimprove.contracts.goal import SubScoreRule
from selfimprove.errors import ConfigError

if TYPE_CHECKING:
    from celpy import Runner

_TEXT_OR_INTEGER = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?<![\w.])(\d+)(?![\w.])""")
PROGRAMS = 512
"""Compiled expressions that are kept: agents write some, and a run may be long."""


@dataclass(frozen=True)
class Broken:
    """A condition that a candidate does not keep."""

    name: str
    """The sub-score's name, or the expression itself."""
    reason: str


@lru_cache(maxsize=PROGRAMS)
def _program(text: str) -> Runner:
    """Compile an expression; raises ConfigError."""
    from celpy import Environment
    from celpy.celparser import CELParseError

    environment = Environment()
    # every value is a double, and CEL does not mix them with integers in sums
    doubles = _TEXT_OR_INTEGER.sub(lambda found: found[1] or f"{found[2]}.0", text)
    try:
        return environment.program(environment.compile(doubles))
    except (CELParseError, RecursionError):
        raise ConfigError(
            f"{text!r} is no expression", "write it like `accuracy >= 0.98`"
        ) from None


def holds(text: str, values: Mapping[str, Any]) -> bool | None:
    """Whether an expression is true of these values.

    None where it speaks of one that is not there, or is neither true nor false. Raises ConfigError
    where it is no expression.
    """
    from celpy.adapter import json_to_cel
    from celpy.celtypes import BoolType
    from celpy.evaluation import CELEvalError

    program = _program(text)
    try:
        found = program.evaluate({name: json_to_cel(value) for name, value in values.items()})
    except (CELEvalError, RecursionError):
        return None
    return bool(found) if isinstance(found, BoolType) else None


def values_of(sample: Sample, metric: str, files_changed: int) -> dict[str, Any]:
    """What an expression may speak of, for one sample."""
    return {
        **sample.sub_scores,
        metric: sample.score,
        "score": sample.score,
        "sub_scores": dict(sample.sub_scores),
        "files_changed": float(files_changed),
        "duration_s": sample.duration_s,
        "memory_mb": sample.memory_mb,
    }


def broken_constraints(
    constraints: Sequence[str], samples: Sequence[Sample], metric: str, files_changed: int
) -> list[Broken]:
    """The constraints that are false over the whole interval of the candidate's values."""
    if not constraints or not samples:
        return []
    low, middle, high = (bounds(samples, metric, files_changed, side) for side in (-1, 0, 1))
    found = []
    for text in constraints:
        answers = [holds(text, values) for values in (low, middle, high)]
        if None in answers:
            found.append(Broken(text, "it speaks of something the benchmark does not report"))
        elif not any(answers):
            found.append(Broken(text, f"{text} is false: {shown(text, middle)}"))
    return found


def bounds(samples: Sequence[Sample], metric: str, files_changed: int, side: int) -> dict[str, Any]:
    """The values at one end of their interval; `side` 0 gives the means."""
    rows = [values_of(sample, metric, files_changed) for sample in samples]
    plain = {
        name: mean([row[name] for row in rows]) + side * half_width([row[name] for row in rows])
        for name in rows[0]
        if name != "sub_scores" and all(name in row for row in rows)
    }
    subs = {name: plain[name] for name in samples[0].sub_scores if name in plain}
    return {**plain, "sub_scores": subs}


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def half_width(values: Sequence[float]) -> float:
    """Half of the 90% interval of a mean, by Student's t; 0 for one value."""
    return estimate.half_width(values, 0.1)


def shown(text: str, values: Mapping[str, Any]) -> str:
    """The values that an expression speaks of, in words."""
    words = set(re.findall(r"\w+", text))
    named = [name for name in values if name != "sub_scores" and name in words]
    return ", ".join(f"{name} is {_plain(values[name])}" for name in named)


def broken_sub_scores(
    rules: Mapping[str, SubScoreRule], pairs: Sequence[Pair], default_tolerance: float
) -> list[Broken]:
    """The declared sub-scores whose loss lies beyond its tolerance, its interval and all."""
    found = []
    for name, rule in rules.items():
        losses = [
            -relative_gain(before, after, rule.direction)
            for pair in pairs
            if (before := _value(pair.incumbent, name)) is not None
            and (after := _value(pair.candidate, name)) is not None
        ]
        if not losses:
            continue
        tolerance = default_tolerance if rule.tolerance is None else rule.tolerance
        surely = mean(losses) - half_width(losses)
        if surely > tolerance:
            found.append(
                Broken(name, f"{name} is worse by {mean(losses):.1%}, {tolerance:.1%} is tolerated")
            )
    return found


def _value(sample: Sample, name: str) -> float | None:
    if name in sample.sub_scores:
        return sample.sub_scores[name]
    return {"memory_mb": sample.memory_mb, "duration_s": sample.duration_s}.get(name)
