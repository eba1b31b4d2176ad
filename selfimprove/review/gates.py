"""Gates: what happens to a plan after its review."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from selfimprove.contracts.critique import Gate, RuleVerdict
from selfimprove.errors import ConfigError
from selfimprove.review.critique import failures, worded

Policy = Callable[[Sequence[RuleVerdict]], bool]


def all_required_critics_pass(verdicts: Sequence[RuleVerdict]) -> bool:
    """Pass where there was a review and nothing in it refuses."""
    return bool(verdicts) and not failures(verdicts)


POLICIES: dict[str, Policy] = {"all_required_critics_pass": all_required_critics_pass}


def policy(name: str) -> Policy:
    """Give the policy of that name; raises ConfigError listing the known ones."""
    if name not in POLICIES:
        raise ConfigError(f"gate_policy: no policy {name!r}", f"known: {', '.join(POLICIES)}")
    return POLICIES[name]


def decide(
    gate_policy: str, verdicts: Sequence[RuleVerdict], critique_round: int, max_rounds: int
) -> Gate:
    """Decide on a plan: commit, retry (revise it and ask the critics again) or reject.

    Only low scores are worth a retry: what a rule refuses goes into the round's quality report.
    `critique_round` counts from 1.
    """
    if policy(gate_policy)(verdicts):
        return Gate(
            gate_policy=gate_policy,
            decision="commit",
            next_action={"type": "proceed", "to_step": "execution"},
        )
    failed = failures(verdicts)
    reason = "; ".join(map(worded, failed)) or "nobody reviewed it"
    low_score = bool(failed) and all(verdict.code == "low_score" for verdict in failed)
    if low_score and critique_round < max_rounds:
        return Gate(
            gate_policy=gate_policy,
            decision="retry",
            reason=reason,
            next_action={"type": "revise", "to_step": "planning"},
        )
    return Gate(
        gate_policy=gate_policy, decision="reject", reason=reason, next_action={"type": "drop"}
    )
