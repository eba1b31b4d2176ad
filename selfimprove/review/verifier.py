"""The verifier: holds what agents produce against schema, rubric and what it is to fit; pure.

It judges what code can judge. A rubric is scored by critics; where none did, only those points of
it count that code can see.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from statistics import mean
from typing import get_args

from selfimprove.contracts.brief import ResearchBrief
from selfimprove.contracts.critique import CriticReply, RuleVerdict
from selfimprove.contracts.plan import Plan
from selfimprove.contracts.verify import VerifyIssue, VerifyKind, VerifyResult, VerifyStatus
from selfimprove.review.checklist import vague
from selfimprove.review.critique import ROUNDING, failures, panel_score

BORDERLINE = 0.5
"""Share of the wanted score down to which a critics' score is low, not failed."""
MARKS = {"pass": 1.0, "low": 0.5, "fail": 0.0}
SHOWN = 200
"""Characters of a step's change that an issue repeats."""


def verify_brief(brief: ResearchBrief, taxonomy: Collection[str]) -> VerifyResult:
    """Does a brief hold ideas with evidence, each in a family that there is?"""
    return combined(_of_brief(brief, taxonomy))


def _of_brief(brief: ResearchBrief, taxonomy: Collection[str]) -> Iterator[VerifyIssue]:
    if not brief.ideas:
        yield VerifyIssue(kind="rubric", grade="low", message="the brief has no idea")
    titles = [idea.title.casefold().strip() for idea in brief.ideas]
    for idea in brief.ideas:
        if not idea.evidence.strip():
            message = f"{idea.title[:SHOWN]!r} names no evidence"
            yield VerifyIssue(kind="rubric", grade="low", message=message)
        if idea.approach_family not in taxonomy:
            family = idea.approach_family[:SHOWN]
            message = f"{idea.title[:SHOWN]!r} is of no known family: {family!r}"
            yield VerifyIssue(kind="consistency", grade="fail", message=message)
    for twice in sorted({title for title in titles if titles.count(title) > 1}):
        message = f"{twice[:SHOWN]!r} is there more than once"
        yield VerifyIssue(kind="consistency", grade="low", message=message)


def verify_plan(
    plan: Plan,
    verdicts: Sequence[RuleVerdict],
    critiques: Sequence[CriticReply],
    threshold: float,
    metrics: Collection[str],
) -> VerifyResult:
    """Does a plan keep the rules, can it be carried out and tested, and what did critics score?

    `metrics` are those that the benchmark reports; empty where that is not known.
    """
    found = [
        VerifyIssue(
            kind="schema" if verdict.rule == "schema" else "consistency",
            grade="fail",
            message=f"{verdict.code}: {verdict.message}",
        )
        for verdict in failures(verdicts)
    ]
    for step in plan.steps:
        if vague(step.change):
            message = f"step {step.step} does not say what to change: {step.change[:SHOWN]!r}"
            found.append(VerifyIssue(kind="rubric", grade="low", message=message, step=step.step))
    if metrics and plan.expected_outcome.metric not in metrics:
        message = f"{plan.expected_outcome.metric[:SHOWN]!r} is not measured"
        found.append(VerifyIssue(kind="rubric", grade="low", message=message))
    return combined([*found, *_scored(critiques, threshold)], critiques)


def verify_change(
    plan: Plan,
    files: Collection[str],
    summary: str,
    critiques: Sequence[CriticReply] = (),
    threshold: float = 0.0,
) -> VerifyResult:
    """Does an executor's change carry out every step of its plan, and nothing beside it?

    `files` are those that it changed.
    """
    found = []
    if not summary.strip():
        message = "the executor does not say what it did"
        found.append(VerifyIssue(kind="schema", grade="low", message=message))
    for step in plan.steps:
        if step.file not in files:
            change = step.change[:SHOWN]
            message = f"step {step.step} is not carried out, {step.file} is as it was: {change}"
            issue = VerifyIssue(kind="consistency", grade="fail", message=message, step=step.step)
            found.append(issue)
    for path in sorted(set(files) - set(plan.target_files)):
        message = f"{path} is changed, which the plan does not list"
        found.append(VerifyIssue(kind="consistency", grade="fail", message=message))
    return combined([*found, *_scored(critiques, threshold)], critiques)


def _scored(critiques: Sequence[CriticReply], threshold: float) -> Iterator[VerifyIssue]:
    score = panel_score(critiques)
    if critiques and score < threshold - ROUNDING:
        message = f"the critics give {score:.2f}, {threshold:g} is wanted"
        low = score >= BORDERLINE * threshold
        yield VerifyIssue(kind="rubric", grade="low" if low else "fail", message=message)


def combined(issues: Iterable[VerifyIssue], critiques: Sequence[CriticReply] = ()) -> VerifyResult:
    """Aggregate: `fail` where anything fails, else `low` where anything is low, else `pass`."""
    found = list(issues)
    marks = {kind: MARKS[_worst(found, kind)] for kind in get_args(VerifyKind)}
    if critiques:
        marks["rubric"] = min(marks["rubric"], panel_score(critiques))
    return VerifyResult(status=_worst(found), score=round(mean(marks.values()), 4), issues=found)


def _worst(issues: Sequence[VerifyIssue], kind: str = "") -> VerifyStatus:
    grades = {issue.grade for issue in issues if kind in ("", issue.kind)}
    return "fail" if "fail" in grades else "low" if "low" in grades else "pass"


def steps_missed(result: VerifyResult) -> list[int]:
    """The steps of a plan that its change does not carry out."""
    return [
        issue.step
        for issue in result.issues
        if issue.step is not None and issue.kind == "consistency"
    ]


def smallest_patch(plan: Plan, steps: Collection[int]) -> Plan:
    """The plan reduced to these steps and their files: what is done is not asked for again."""
    left = [step for step in plan.steps if step.step in steps]
    files = [path for path in plan.target_files if path in {step.file for step in left}]
    return plan.model_copy(update={"steps": left, "target_files": files}) if left else plan
