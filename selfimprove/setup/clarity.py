"""How clear a goal is, from 0 to 100 for each topic, why, and what to ask next; pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from selfimprove.contracts.setup import Topic
from selfimprove.setup.draft import Draft
from selfimprove.words import NOTHING, Quantity, direction, in_words, quantity, reached

CLEAR = 60
"""From here on nothing more is asked."""

_VERBS = re.compile(
    r"\b(reduc|lower|cut|shrink|minimi[sz]|speed|accelerat|faster|rais|increas|improv|maximi[sz]"
    r"|shorten|halv|doubl|avoid|remov|save|make|lessen|decreas)",
    re.IGNORECASE,
)
_BOUNDS = re.compile(
    r"\b(without|while|keep|must|so that|because|for|unchanged|stay|never|only)\b", re.IGNORECASE
)
_VAGUE = re.compile(r"\b(everything|stuff|things?|better|good|nice|code|app|it)\b", re.IGNORECASE)
_CONCRETE = re.compile(
    r"`[^`]+`|\w+[/.]\w+|\w+_\w+|\b(?:p\d\d|latency|throughput|memory|time|size)\b", re.IGNORECASE
)


@dataclass(frozen=True)
class Clarity:
    """One topic's score, with the reason and the question that would raise it."""

    topic: Topic
    score: int
    reason: str
    question: str = ""


def clarity(
    draft: Draft, files_in_scope: Callable[[Sequence[str]], int] | None = None
) -> list[Clarity]:
    """The four scores; `files_in_scope` counts the files that patterns mean, where known."""
    return [_objective(draft), _metric(draft), _target(draft), _scope(draft, files_in_scope)]


def _objective(draft: Draft) -> Clarity:
    words = draft.objective.split()
    if not words:
        return Clarity("Objective", 0, "nothing is said", "What should get better?")
    verb = bool(_VERBS.search(draft.objective))
    concrete = (
        bool(_CONCRETE.search(draft.objective))
        or len(set(words) - {*_VAGUE.findall(draft.objective)}) >= 6
    )
    score = 20 + 30 * verb + 30 * concrete + 20 * bool(_BOUNDS.search(draft.objective))
    if len(words) < 3:
        score = min(score, 40)
    if not verb:
        return Clarity(
            "Objective", score, "no change is named", "What exactly should change, and how?"
        )
    if not concrete:
        return Clarity(
            "Objective", score, "it could mean any part", "Which part, operation or users?"
        )
    if score < 100:
        question = "What must stay as it is, or why does it matter?"
        return Clarity("Objective", score, "change and subject are named, limits are not", question)
    return Clarity("Objective", score, "change, subject and limits are named")


def _metric(draft: Draft) -> Clarity:
    if not draft.metric.strip():
        question = "What is the number called that the benchmark prints?"
        return Clarity("Metric", 0, "no metric is named", question)
    better = direction(draft.direction) if draft.direction else None
    target = quantity(draft.target)
    better = better or (target.direction if target else None)
    score = 40 + 35 * bool(better) + 25 * bool(draft.command)
    if not better:
        return Clarity("Metric", score, "no direction is given", "Is lower or higher better?")
    if not draft.command:
        return Clarity("Metric", score, "no command measures it", "Which command prints it?")
    return Clarity("Metric", score, f"measured by a command, {in_words(better)} is better")


def _target(draft: Draft, baseline: float | None = None) -> Clarity:
    if draft.target.strip().lower() in NOTHING:
        reason = "none: the run ends by plateau, patience or its limits"
        return Clarity("Target", CLEAR, reason, "At which value would you be done? (none is fine)")
    wanted = quantity(draft.target)
    better = direction(draft.direction) if draft.direction else None
    if wanted is None:
        question = "Which one number? ('120', '< 120 ms', '>= 0.98')"
        return Clarity("Target", 15, f"{draft.target!r} is not one number", question)
    if wanted.direction and better and wanted.direction != better:
        question = f"Should it end below or above {wanted.value:g}?"
        return Clarity("Target", 10, f"it contradicts the direction {in_words(better)}", question)
    return _against_baseline(wanted, better or wanted.direction, baseline)


def _against_baseline(wanted: Quantity, better: str | None, baseline: float | None) -> Clarity:
    if baseline is None or better is None:
        return Clarity("Target", 80, f"{wanted.value:g}, not yet compared with a measurement")
    if reached(
        baseline, wanted.value, "lower_is_better" if better[0] == "l" else "higher_is_better"
    ):
        return Clarity(
            "Target", 20, f"{baseline:g} has already reached it", "Which value beyond it?"
        )
    return Clarity("Target", 100, f"{wanted.value:g}, from {baseline:g} today")


def target_clarity(draft: Draft, baseline: float) -> Clarity:
    """The target's score once the baseline is measured."""
    return _target(draft, baseline)


def _scope(draft: Draft, files_in_scope: Callable[[Sequence[str]], int] | None) -> Clarity:
    if not draft.in_scope:
        return Clarity("Scope", 0, "nothing may be edited", "Which files or folders may be edited?")
    count = files_in_scope(draft.in_scope) if files_in_scope else None
    if count == 0:
        question = "Which files or folders that exist may be edited?"
        return Clarity("Scope", 15, "the patterns match no file", question)
    matched = "" if count is None else f", {count} file{'s' * (count != 1)}"
    if any(pattern.strip("./*") == "" for pattern in draft.in_scope) and not draft.out_of_scope:
        question = "Which part should stay as it is?"
        return Clarity("Scope", 50, f"the whole repository is open{matched}", question)
    score = 70 + 15 * bool(count) + 15 * bool(draft.out_of_scope or draft.hidden)
    question = "" if draft.out_of_scope else "Anything in there that must not be touched?"
    return Clarity("Scope", score, f"{', '.join(draft.in_scope)}{matched}", question)
