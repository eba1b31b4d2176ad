"""Gates: what happens to a plan, or to an executor's change, after its review; pure.

What a rule in code refuses is rejected under every policy: no score outvotes a rule. A policy says
what the reviewers' scores come to. What it refuses goes back while critique rounds are left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from selfimprove.bench.conditions import holds, shown
from selfimprove.contracts.critique import CriticReply, Gate, RuleVerdict
from selfimprove.contracts.plan import ArchitectReview
from selfimprove.contracts.settings import Settings
from selfimprove.errors import ConfigError
from selfimprove.review.critique import (
    ROUNDING,
    failures,
    issues,
    panel_verdict,
    worded,
)
from selfimprove.review.gate_facts import SAMPLE, Case, facts

EXPERIMENTS = 1
"""Plans a round that split the panel and go on, where `gate.experiments` is not set."""
SENT_BACK = frozenset({"low_score", "gate_says_no"})
"""Refusals that a revision may answer; every other one goes into the round's quality report."""


Policy = Callable[[Case, Settings], RuleVerdict]


def all_required_critics_pass(case: Case, settings: Settings) -> RuleVerdict:
    """Pass where every critic answered and their mean is at least `approval_threshold`."""
    return panel_verdict(
        case.critiques, settings.number_of_max_critics, settings.approval_threshold
    )


def weighted_threshold(case: Case, settings: Settings) -> RuleVerdict:
    """Pass where every critic answered and the weighted mean of all reviewers is high enough."""
    return _weighed(case.critiques, case.architect, settings)


def _weighed(
    critiques: Sequence[CriticReply], architect: ArchitectReview | None, settings: Settings
) -> RuleVerdict:
    missing = panel_verdict(critiques, settings.number_of_max_critics, 0.0)
    voices = _voices(critiques, architect, settings)
    weight = sum(each for each, _ in voices)
    if not missing.passed or not weight:
        return missing
    threshold = _threshold(settings)
    score = sum(each * said for each, said in voices) / weight
    passed = score >= threshold - ROUNDING
    told = f"the reviewers' weighted mean is {score:.2f}"
    return RuleVerdict(
        rule="critics",
        passed=passed,
        code="" if passed else "low_score",
        message=told if passed else f"{told}, {threshold:g} is wanted",
        remedy="" if passed else _answer(critiques),
    )


def domain_specific(case: Case, settings: Settings) -> RuleVerdict:
    """Pass where `gate.expression` is true of the plan, or `gate.command` ended with 0."""
    missing = panel_verdict(case.critiques, settings.number_of_max_critics, 0.0)
    if not missing.passed:
        return missing
    if settings.gate.command:
        return case.word or RuleVerdict(
            rule="critics", passed=False, code="gate_missing", message="gate.command was not run"
        )
    text = settings.gate.expression
    known = facts(case)
    answer = holds(text, known)
    if answer:
        return RuleVerdict(rule="critics", passed=True, message=f"true of the plan: {text}")
    why = "it speaks of what the plan does not say" if answer is None else shown(text, known)
    message = f"not true of the plan: {text} ({why})"
    return says_no(message, _answer(case.critiques))


def says_no(message: str, remedy: str) -> RuleVerdict:
    """Give the refusal of an expression or a command of the project's own."""
    return RuleVerdict(
        rule="critics", passed=False, code="gate_says_no", message=message, remedy=remedy
    )


POLICIES: dict[str, Policy] = {
    "all_required_critics_pass": all_required_critics_pass,
    "weighted_threshold": weighted_threshold,
    "domain_specific": domain_specific,
}


def decide(
    rules: Sequence[RuleVerdict], case: Case, settings: Settings
) -> tuple[list[RuleVerdict], Gate]:
    """Decide on a plan: commit, retry (revise and ask again), branch (an experiment) or reject.

    Gives every verdict on it besides, the policy's where the rules let it pass.
    """
    if not rules:
        return [], _gate(settings, "reject", "nobody reviewed it")
    if failed := failures(rules):
        return list(rules), _gate(settings, "reject", _reason(failed))
    verdict = POLICIES[settings.gate_policy](case, settings)
    if verdict.passed:
        return [*rules, verdict], _gate(settings, "commit")
    reason = worded(verdict)
    if verdict.code in SENT_BACK and case.turn < settings.max_critique_rounds:
        return [*rules, verdict], _gate(settings, "retry", reason)
    if told := _split(case, settings, verdict):
        split = RuleVerdict(rule="critics", passed=True, code="split", message=told)
        return [*rules, split], _gate(settings, "branch", told)
    return [*rules, verdict], _gate(settings, "reject", reason)


def decide_change(critiques: Sequence[CriticReply], turn: int, settings: Settings) -> Gate:
    """Decide on an executor's change by its critics: commit, retry or reject.

    Weights count here too; an expression or a command of the project's own is about plans alone.
    """
    if settings.gate_policy == "weighted_threshold":
        verdict = _weighed(critiques, None, settings)
    else:
        many, threshold = settings.number_of_max_critics, settings.approval_threshold
        verdict = panel_verdict(critiques, many, threshold)
    if verdict.passed:
        return _gate(settings, "commit", follows={"type": "proceed", "to_step": "measurement"})
    reason = worded(verdict)
    if verdict.code in SENT_BACK and turn < settings.max_critique_rounds:
        return _gate(settings, "retry", reason, {"type": "revise", "to_step": "execution"})
    return _gate(settings, "reject", reason)


def refused_change(settings: Settings, reason: str) -> Gate:
    """Give the decision on a change that needs no critic to be rejected."""
    return _gate(settings, "reject", reason)


NEXT: dict[str, dict[str, Any]] = {
    "commit": {"type": "proceed", "to_step": "execution"},
    "branch": {"type": "proceed", "to_step": "execution", "as": "experiment"},
    "retry": {"type": "revise", "to_step": "planning"},
    "reject": {"type": "drop"},
}


def _gate(
    settings: Settings, decision: str, reason: str = "", follows: dict[str, Any] | None = None
) -> Gate:
    return Gate(
        gate_policy=settings.gate_policy,
        decision=decision,
        reason=reason,
        next_action=follows or NEXT[decision],
    )


def _reason(failed: Sequence[RuleVerdict]) -> str:
    return "; ".join(map(worded, failed))


def _answer(critiques: Sequence[CriticReply]) -> str:
    return "answer their issues: " + ("; ".join(issues(critiques)[:5]) or "they named none")


def _voices(
    critiques: Sequence[CriticReply], architect: ArchitectReview | None, settings: Settings
) -> list[tuple[float, float]]:
    """Weight and score of every reviewer that counts for something."""
    weights, plain = settings.gate.weights, settings.gate.weights.get("critic", 1.0)
    voices = [
        (weights.get(f"critic_{number}", plain), reply.score)
        for number, reply in enumerate(critiques, 1)
    ]
    if architect is not None:
        approved = float(architect.verdict == "approve")
        voices.append((weights.get("architect", 0.0), approved))
    return [voice for voice in voices if voice[0] > 0]


def _threshold(settings: Settings) -> float:
    given = settings.gate.threshold
    return settings.approval_threshold if given is None else given


def _split(case: Case, settings: Settings, verdict: RuleVerdict) -> str:
    """Why a refused plan may go on as an experiment; empty where it may not.

    Some critics would carry it out and others not, and the round has room for one more.
    """
    if settings.gate_policy != "weighted_threshold" or verdict.code != "low_score":
        return ""
    most = settings.gate.experiments
    if case.experiments >= (EXPERIMENTS if most is None else most):
        return ""
    scores, threshold = [reply.score for reply in case.critiques], _threshold(settings)
    if not scores or not min(scores) < threshold <= max(scores) + ROUNDING:
        return ""
    said = ", ".join(f"critic_{number} {score:.2f}" for number, score in enumerate(scores, 1))
    return f"the critics are split ({said}): it goes on as an experiment"


def ensure(settings: Settings) -> None:
    """Raise ConfigError where the gate of these settings cannot decide anything."""
    gate, name = settings.gate, settings.gate_policy
    if name not in POLICIES:
        raise ConfigError(f"gate_policy: no policy {name!r}", f"known: {', '.join(POLICIES)}")
    if name == "weighted_threshold":
        _ensure_weights(settings)
    if name != "domain_specific":
        return
    if bool(gate.expression) == bool(gate.command):
        given = "both are" if gate.command else "neither is"
        raise ConfigError(
            f"gate: domain_specific asks gate.expression or gate.command, and {given} set",
            "set one, such as gate.expression `score >= 0.8 && files <= 2`",
        )
    if gate.expression and not _speaks_of_plans(gate.expression):
        raise ConfigError(
            f"gate.expression: {gate.expression!r} is neither true nor false of a plan",
            f"write it like `score >= 0.8 && files <= 2`, of {', '.join(SAMPLE)}",
        )


def _speaks_of_plans(text: str) -> bool:
    try:
        return holds(text, SAMPLE) is not None
    except ConfigError:
        return False


def _ensure_weights(settings: Settings) -> None:
    many, weights = settings.number_of_max_critics, settings.gate.weights
    known = ["critic", *(f"critic_{number}" for number in range(1, many + 1)), "architect"]
    if strange := [name for name in weights if name not in known]:
        raise ConfigError(
            f"gate.weights: {strange[0]!r} reviews nothing: number_of_max_critics is {many}",
            f"write one of {', '.join(known)}",
        )
    plain = weights.get("critic", 1.0)
    of_critics = sum(weights.get(f"critic_{number}", plain) for number in range(1, many + 1))
    if many and not of_critics + weights.get("architect", 0.0):
        raise ConfigError("gate.weights: nobody's score counts", "give some reviewer a weight")
