"""The quality report of a round's plans, and what is told before they plan again; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, get_args

from selfimprove.contracts.critique import (
    Level,
    QualityReport,
    Refinement,
    Remembered,
    RuleVerdict,
    refinement_kind,
)
from selfimprove.contracts.plan import Plan
from selfimprove.review.critique import failures

MOST_FILES = 200
MOST_APPROACHES, APPROACH = 10, 240
"""Hypotheses of refused plans that are told, and characters of each."""
LEVELS: tuple[Level, ...] = get_args(Level)
NO_PLAN = "no_plan"
FAMILY_CODES = frozenset({"family_streak", "same_family", "documentation_out_of_scope"})
FILE_CODES = frozenset(
    {"out_of_scope", "hidden_target", "sealed_target", "folder_target", "changes_measurement"}
)
ADVICE = {
    "no_hypothesis": "write one hypothesis: doing X should improve Y because Z",
    "several_hypotheses": "plan one change with one predicted effect",
    "unknown_family": "use a family of the taxonomy, spelt as it is there",
    "bad_path": "write paths inside the repository, from its root",
    "step_outside_targets": "list every file that a step changes in target_files",
    "too_long": "plan less, and say it shorter",
    "repeated_failure": "read the losers in the history; do not repeat one without saying why",
    "changes_measurement": "improve what is measured, never how it is measured",
    "own_rule": "keep to the project's own rules",
    "low_score": "answer the critics' issues before anything else",
}

Reviewed = Sequence[tuple[Plan, Sequence[RuleVerdict]]]


@dataclass(frozen=True)
class Terms:
    """What a round's plans are held to, and what a refinement is made of."""

    threshold: float
    by_family: Mapping[str, float] = field(default_factory=dict)
    """Thresholds of families that have their own."""
    files: Sequence[str] = ()
    """Those that may be changed."""
    after: Level | None = None
    """How far the round's last refinement went; None before the first."""
    known: Mapping[str, Remembered] = field(default_factory=dict)
    """`out_of_scope/files` -> what such refinements came to in all rounds so far."""
    levels: bool = True
    """False for a record of before there were levels: it has none."""


def quality_report(plans: Reviewed, terms: Terms) -> QualityReport:
    """Count which plans passed and why the others did not, and say what might mend that."""
    breakdown: Counter[str] = Counter()
    for _, verdicts in plans:
        breakdown.update({verdict.code for verdict in failures(verdicts)})
    rejected = len(_refused(plans))
    score = (len(plans) - rejected) / len(plans) if plans else 0.0
    threshold = threshold_for(plans, terms)
    enough = bool(plans) and score >= threshold
    ordered = dict(sorted(breakdown.items(), key=lambda item: (-item[1], item[0])))
    return QualityReport(
        total=len(plans),
        verified=len(plans) - rejected,
        rejected=rejected,
        rejection_breakdown=ordered,
        quality_score=score,
        meets_threshold=enough,
        threshold=threshold if terms.by_family else None,
        suggested_refinement=None if enough else suggested_refinement(plans, ordered, terms),
    )


def threshold_for(plans: Reviewed, terms: Terms) -> float:
    """The share of these plans that must pass: the mean of what their families ask."""
    asked = [terms.by_family.get(plan.approach_family, terms.threshold) for plan, _ in plans]
    if len(set(asked)) < 2:  # no rounding where there is nothing to be mixed
        return next(iter(asked), terms.threshold)
    return fmean(asked)


def suggested_refinement(plans: Reviewed, breakdown: Mapping[str, int], terms: Terms) -> Refinement:
    """Say what would raise the share of plans that pass; `breakdown` has the commonest first."""
    avoid: set[str] = set()
    for plan, verdicts in plans:
        if any(verdict.code in FAMILY_CODES for verdict in failures(verdicts)):
            avoid.add(plan.approach_family)
    shown = [*terms.files[:MOST_FILES]] if any(code in FILE_CODES for code in breakdown) else []
    found = Refinement(
        reason=_reason(plans, breakdown),
        families_to_avoid=sorted(avoid),
        files_in_scope=shown,
        advice=[ADVICE[code] for code in breakdown if code in ADVICE],
    )
    if not terms.levels:
        return found
    cause, refused = next(iter(breakdown), NO_PLAN), _refused(plans)
    level = next_level(cause, terms.after, terms.known)
    more: dict[str, Any] = {"level": level, "cause": cause, "earlier": _earlier(cause, terms.known)}
    if level == "files":
        more["files_in_scope"] = _other_files(refused, terms.files)
    elif level == "approach":
        more["families_to_avoid"] = sorted(avoid | {plan.approach_family for plan in refused})
        told = (plan.hypothesis[:APPROACH] for plan in refused)
        more["approaches_to_avoid"] = [*told][:MOST_APPROACHES]
    return found.model_copy(update=more)


def next_level(cause: str, after: Level | None, known: Mapping[str, Remembered]) -> Level:
    """The next level of a round, or one beyond it that helped more often against the same cause.

    A round never goes back; one that is at the last level stays there.
    """
    left = LEVELS[LEVELS.index(after) + 1 :] if after else LEVELS

    def worth(level: Level) -> float:
        record = known.get(refinement_kind(cause, level), Remembered())
        return (record.helped + 1) / (record.tried + 2)

    return max(left or LEVELS[-1:], key=worth)  # the first of those that are worth the same


def _earlier(cause: str, known: Mapping[str, Remembered]) -> list[str]:
    found = ((level, known.get(refinement_kind(cause, level))) for level in LEVELS)
    return [
        f"{level}: more plans passed after {each.helped} of {each.tried} such refinements"
        for level, each in found
        if each
    ]


def _other_files(refused: Sequence[Plan], files: Sequence[str]) -> list[str]:
    """The files that no refused plan wanted to change; all of them where none is left."""
    wanted = {file for plan in refused for file in plan.target_files}
    others = [file for file in files if file not in wanted]
    return [*(others or files)][:MOST_FILES]


def _refused(plans: Reviewed) -> list[Plan]:
    return [plan for plan, verdicts in plans if failures(verdicts)]


def _reason(plans: Reviewed, breakdown: Mapping[str, int]) -> str:
    if not plans:
        return "no planner gave a plan"
    counted = ", ".join(
        f"{code} ({count} plan{'s' if count > 1 else ''})" for code, count in breakdown.items()
    )
    return f"too few plans passed review: {counted}"
