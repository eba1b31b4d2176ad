"""The quality report of a round's plans, and what planners are told before they plan again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from selfimprove.contracts.critique import QualityReport, Refinement, RuleVerdict
from selfimprove.contracts.plan import Plan
from selfimprove.review.critique import failures

MOST_FILES = 200
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
    "low_score": "answer the critics' issues before anything else",
}

Reviewed = Sequence[tuple[Plan, Sequence[RuleVerdict]]]


def quality_report(plans: Reviewed, threshold: float, files: Sequence[str] = ()) -> QualityReport:
    """Count which plans passed and why the others did not; `files` may be changed."""
    breakdown: Counter[str] = Counter()
    for _, verdicts in plans:
        breakdown.update({verdict.code for verdict in failures(verdicts)})
    rejected = sum(1 for _, verdicts in plans if failures(verdicts))
    score = (len(plans) - rejected) / len(plans) if plans else 0.0
    enough = bool(plans) and score >= threshold
    ordered = dict(sorted(breakdown.items(), key=lambda item: (-item[1], item[0])))
    return QualityReport(
        total=len(plans),
        verified=len(plans) - rejected,
        rejected=rejected,
        rejection_breakdown=ordered,
        quality_score=score,
        meets_threshold=enough,
        suggested_refinement=None if enough else suggested_refinement(plans, ordered, files),
    )


def suggested_refinement(
    plans: Reviewed, breakdown: Mapping[str, int], files: Sequence[str]
) -> Refinement:
    """Say what would raise the share of plans that pass; `breakdown` has the commonest first."""
    avoid: set[str] = set()
    for plan, verdicts in plans:
        if any(verdict.code in FAMILY_CODES for verdict in failures(verdicts)):
            avoid.add(plan.approach_family)
    shown = [*files[:MOST_FILES]] if any(code in FILE_CODES for code in breakdown) else []
    return Refinement(
        reason=_reason(plans, breakdown),
        families_to_avoid=sorted(avoid),
        files_in_scope=shown,
        advice=[ADVICE[code] for code in breakdown if code in ADVICE],
    )


def _reason(plans: Reviewed, breakdown: Mapping[str, int]) -> str:
    if not plans:
        return "no planner gave a plan"
    counted = ", ".join(
        f"{code} ({count} plan{'s' if count > 1 else ''})" for code, count in breakdown.items()
    )
    return f"too few plans passed review: {counted}"
