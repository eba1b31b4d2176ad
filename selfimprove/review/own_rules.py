"""The project's own rules, of harness.md, as far as they are expressions about a plan; pure.

A rule such as `files <= 2 && family != 'architecture'` is enforced like the rules of the house. One
in words is told to every role, and nothing more: nobody can tell in code whether it is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from selfimprove.bench.conditions import holds, shown
from selfimprove.contracts.plan import Plan
from selfimprove.errors import ConfigError
from selfimprove.review.calibration import percents

SAMPLE: dict[str, Any] = {
    **dict.fromkeys(("confidence", "expected"), 0.5),
    **dict.fromkeys(("round", "files", "steps"), 1.0),
    **dict.fromkeys(("family", "planner"), "x"),
    "target_files": ["src/a.py"],
}
"""A value of each kind for everything that `plan_facts` may name."""
_MAY_BE = re.compile(r"""[<>]|[=!]=|\.\w+\(|\bin\s*\[|['"]\s+in\s""")
"""What no expression is without: rules in words are many, and the library for the others large."""


def plan_facts(plan: Plan) -> dict[str, Any]:
    """What an expression may speak of; what a plan does not say is left out."""
    expected = percents(plan.expected_outcome.estimated_impact)
    known: dict[str, Any] = {
        "family": plan.approach_family,
        "planner": plan.planner_id,
        "round": float(plan.round),
        "files": float(len(plan.target_files)),
        "target_files": list(plan.target_files),
        "steps": float(len(plan.steps)),
        "confidence": plan.confidence,
        "expected": min(expected) if expected else None,
    }
    return {name: value for name, value in known.items() if value is not None}


def enforced(rules: Iterable[str]) -> tuple[str, ...]:
    """Those of the rules that are true or false of a plan, in their order."""
    return tuple(text for each in rules if _speaks_of_plans(text := each.strip().strip("`")))


@lru_cache(maxsize=512)
def _speaks_of_plans(text: str) -> bool:
    try:
        return _MAY_BE.search(text) is not None and holds(text, SAMPLE) is not None
    except ConfigError:
        return False


def broken(rules: Iterable[str], plan: Plan) -> str:
    """The first of these rules that a plan breaks, and how; empty where it keeps them all.

    A rule about what the plan does not say is broken.
    """
    known = plan_facts(plan)
    for text in rules:
        answer = holds(text, known)
        if not answer:
            told = shown(text, known)
            why = told if answer is False else "the plan does not say"
            return f"{text} ({why})"
    return ""
