"""The architect's six points, as far as code can look at them. All of it is advice.

What code can prove (a target that is sealed, hidden or outside) is `rules.scope`, which refuses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from selfimprove.contracts.plan import Plan
from selfimprove.review.calibration import percents
from selfimprove.review.context import ReviewContext, folded, plan_key

MANY_FILES, MANY_STEPS = 5, 12
SHORT_CHANGE = 12
ALIKE = 0.8
"""Share of words that two plans have in common from which on they are called alike."""
_VAGUE = re.compile(
    r"^\s*(?:optimi[sz]e|improve|refactor|clean ?up|fix|tweak)(?:\s+\w+){0,2}\W*$", re.I
)


def testable(plan: Plan, context: ReviewContext) -> str:
    """Is the expected outcome one that the benchmark reports?"""
    metric = plan.expected_outcome.metric
    if not context.metrics or metric in context.metrics:
        return ""
    known = ", ".join(sorted(context.metrics))
    return f"testable: {metric!r} is not measured; measured are: {known}"


def right_sized(plan: Plan, _context: ReviewContext) -> str:
    """Is it small enough that its effect can be told?"""
    files, steps = len(plan.target_files), len(plan.steps)
    if files <= MANY_FILES and steps <= MANY_STEPS:
        return ""
    return f"right-sized: {steps} steps in {files} files are much for one hypothesis"


def targets_exist(plan: Plan, context: ReviewContext) -> str:
    """Which targets would be new?"""
    new = [path for path in plan.target_files if path not in context.tree.existing]
    return f"targets: new files: {', '.join(new[:5])}" if new else ""


def clear(plan: Plan, _context: ReviewContext) -> str:
    """Can each step be carried out as it is written?"""
    for step in plan.steps:
        if vague(step.change):
            return f"clear: step {step.step} does not say what to change: {step.change[:60]!r}"
    return ""


def vague(change: str) -> bool:
    """Whether the words of a step do not say what to change."""
    return len(change.strip()) < SHORT_CHANGE or _VAGUE.match(change[:200]) is not None


def realistic(plan: Plan, context: ReviewContext) -> str:
    """Is the estimate in keeping with what was ever gained?"""
    if context.best_gain is None:
        return ""
    estimates = percents(plan.expected_outcome.estimated_impact)
    best = 100 * context.best_gain
    if not estimates or min(estimates) <= max(5.0, 5 * best):
        return ""
    return f"realistic: {min(estimates):g}% is expected, the best gain so far is {best:.2g}%"


POINTS: tuple[Callable[[Plan, ReviewContext], str], ...] = (
    testable,
    right_sized,
    targets_exist,
    clear,
    realistic,
)


def novel(plan: Plan, losers: Iterable[Plan]) -> str:
    """Is it much like a plan that lost? Likeness is told, never a refusal."""
    words = _words(plan)
    for loser in losers:
        if loser.approach_family != plan.approach_family:
            continue
        if not set(loser.target_files) & set(plan.target_files) or plan_key(loser) == plan_key(
            plan
        ):
            continue
        others = _words(loser)
        if len(words & others) >= ALIKE * len(words | others):
            return f"novel: much like {loser.plan_id}, which did not win"
    return ""


def _words(plan: Plan) -> set[str]:
    return set(re.findall(r"\w+", folded(" ".join(step.change for step in plan.steps))[:4000]))


def advice(plan: Plan, context: ReviewContext, losers: Iterable[Plan] = ()) -> list[str]:
    """Give what the six points have to say of a plan; `losers` are recent ones to compare with."""
    said = [point(plan, context) for point in POINTS]
    return [line for line in [*said, novel(plan, losers)] if line]
