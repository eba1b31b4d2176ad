"""What a review knows besides the plan it looks at."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from selfimprove.contracts.base import FAMILIES
from selfimprove.contracts.plan import Plan, PlanChange

PathTest = Callable[[str], bool]


def _nothing(_path: str) -> bool:
    return False


@dataclass(frozen=True)
class TreeView:
    """Which paths of the target there are, and what may be done with them."""

    existing: frozenset[str]
    in_scope: PathTest
    """Whether a candidate may change or add this path, seals and hidden paths aside."""
    sealed: PathTest = _nothing
    hidden: PathTest = _nothing
    measures: PathTest = _nothing
    """Whether this path makes the score and is not in scope: the benchmark, goal.md."""


@dataclass(frozen=True)
class ReviewContext:
    """The facts of one round that a plan is held against."""

    tree: TreeView
    taxonomy: tuple[str, ...] = FAMILIES
    """The contract's families and harness.md's own."""
    recent_winners: tuple[str | None, ...] = ()
    """The family that won each of the last rounds, oldest first; None where none won."""
    streak_limit: int = 3
    documentation: bool = False
    """Whether documentation is in scope."""
    earlier: tuple[Plan, ...] = ()
    """This round's plans of earlier planners that still stand, in planner order."""
    narrowed: frozenset[str] = frozenset()
    """Families that several planners share this round, each with target files of its own."""
    losers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """`history_key` of a recorded loser -> the ids of the plans that lost so."""
    own_rules: tuple[str, ...] = ()
    """Rules of harness.md that are expressions about a plan."""
    metrics: frozenset[str] = frozenset()
    """The goal's metric and its sub-scores; advice only."""
    best_gain: float | None = None
    """The largest relative gain on record; advice only."""


def history_key(family: str, target_files: Iterable[str], steps: Sequence[PlanChange]) -> str:
    """Name what a plan would do: equal for plans that differ in case and white space alone."""
    what = [
        family,
        sorted(set(target_files)),
        [[step.file, folded(step.change)] for step in steps],
    ]
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()


def plan_key(plan: Plan) -> str:
    """Give the history key of a plan."""
    return history_key(plan.approach_family, plan.target_files, plan.steps)


def folded(text: str) -> str:
    """Fold case and white space; digits and everything else stay."""
    return " ".join(text.casefold().split())


def loser_index(plans: Iterable[Plan]) -> dict[str, tuple[str, ...]]:
    """Index recorded losers by what they did."""
    found: dict[str, tuple[str, ...]] = {}
    for plan in plans:
        key = plan_key(plan)
        found[key] = (*found.get(key, ()), plan.plan_id)
    return found
