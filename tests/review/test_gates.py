"""Gates: what the policies let pass, what goes back, and what goes on as an experiment."""

from __future__ import annotations

from typing import Any

import pytest

from selfimprove.contracts.critique import CriticReply, RuleVerdict
from selfimprove.contracts.plan import ArchitectReview
from selfimprove.contracts.settings import Settings
from selfimprove.errors import ConfigError
from selfimprove.review import gates
from selfimprove.review.gate_facts import SAMPLE, Case, facts
from selfimprove.review.rules import review_plan

from .samples import context, plan

CLEAN = review_plan(plan(), context())
BROKEN = review_plan(plan(target="lib/x.py"), context())


def settings(policy: str = "all_required_critics_pass", **given: Any) -> Settings:
    gate = {name: given.pop(name) for name in list(given) if name not in Settings.model_fields}
    critics = given.pop("number_of_max_critics", 2)
    return Settings.model_validate(
        {"gate_policy": policy, "gate": gate, "number_of_max_critics": critics, **given}
    )


def case(*scores: float, **given: Any) -> Case:
    said = [CriticReply(score=score, issues=[f"at {score}"]) for score in scores]
    fields = given.pop("plan", {})
    return Case(plan=plan(**fields), critiques=said, **given)


def decision(told: Settings, *scores: float, **given: Any) -> str:
    return gates.decide(CLEAN, case(*scores, **given), told)[1].decision


def test_a_low_score_goes_back_while_rounds_are_left() -> None:
    told = settings()
    assert decision(told, 0.9, 0.9) == "commit"
    assert [decision(told, 0.9, 0.2, turn=turn) for turn in (1, 2, 3)] == [
        "retry", "retry", "reject",
    ]  # fmt: skip
    verdicts, gate = gates.decide(CLEAN, case(0.9, 0.2), told)
    assert verdicts[-1].code == "low_score"
    assert "at 0.2" in gate.reason
    assert gate.next_action == {"type": "revise", "to_step": "planning"}
    assert decision(told, 0.9) == "reject"  # a critic is missing: no revision mends that


@pytest.mark.parametrize("policy", list(gates.POLICIES))
def test_no_policy_lets_pass_what_a_rule_refuses(policy: str) -> None:
    told = settings(policy, expression="score >= 0", weights={"critic": 5})
    verdicts, gate = gates.decide(BROKEN, case(1.0, 1.0, turn=3), told)
    assert gate.decision == "reject"
    assert "out_of_scope" in gate.reason
    assert verdicts == list(BROKEN)
    assert gates.decide([], case(1.0, 1.0), told)[1].decision == "reject"


def test_weights_say_whose_score_counts_how_much() -> None:
    told = settings("weighted_threshold", weights={"critic_1": 3})
    assert decision(told, 1.0, 0.7) == "commit"  # 0.925
    assert decision(told, 0.7, 1.0) == "retry"  # 0.775
    assert decision(settings("weighted_threshold"), 1.0, 0.7) == "retry"
    assert decision(settings("weighted_threshold", threshold=0.8), 1.0, 0.7) == "commit"
    assert decision(settings("weighted_threshold", weights={"critic_2": 0}), 1.0, 0.0) == "commit"
    assert decision(told, 1.0) == "reject"


def test_the_architect_counts_where_it_is_given_a_weight() -> None:
    against = ArchitectReview(verdict="reject")
    plain, heard = (settings("weighted_threshold", weights=w) for w in ({}, {"architect": 1}))
    assert decision(plain, 1.0, 1.0, architect=against) == "commit"
    assert decision(heard, 1.0, 1.0, architect=against) == "retry"  # 0.67
    assert decision(heard, 1.0, 1.0) == "commit"  # one that did not answer has no voice
    alone = settings("weighted_threshold", weights={"architect": 1}, number_of_max_critics=0)
    assert decision(alone, architect=against, turn=3) == "reject"
    assert decision(alone) == "commit"


def test_a_split_panel_sends_a_plan_on_as_an_experiment() -> None:
    told = settings("weighted_threshold")
    assert decision(told, 0.95, 0.3, turn=1) == "retry"  # revising comes first
    verdicts, gate = gates.decide(CLEAN, case(0.95, 0.3, turn=3), told)
    assert gate.decision == "branch"
    assert gate.next_action["as"] == "experiment"
    assert "critic_1 0.95, critic_2 0.30" in gate.reason
    assert all(verdict.passed for verdict in verdicts)
    # all are against it; the round has its experiment; it wants none
    assert decision(told, 0.8, 0.3, turn=3) == "reject"
    assert decision(told, 0.95, 0.3, turn=3, experiments=1) == "reject"
    assert decision(settings("weighted_threshold", experiments=0), 0.95, 0.3, turn=3) == "reject"
    assert decision(settings(), 0.95, 0.3, turn=3) == "reject"


def test_an_expression_decides_on_the_plan() -> None:
    told = settings("domain_specific", expression="score >= 0.9 || family == 'data' && files < 2")
    assert decision(told, 0.5, 0.5) == "retry"
    assert decision(told, 0.5, 0.5, plan={"approach_family": "data"}) == "commit"
    assert decision(told, 0.9, 0.9) == "commit"
    verdicts, gate = gates.decide(CLEAN, case(0.5, 0.5, turn=3), told)
    assert (gate.decision, verdicts[-1].code) == ("reject", "gate_says_no")
    assert "score is 0.5" in gate.reason
    assert "at 0.5" in gate.reason
    assert decision(told, 0.9) == "reject"


def test_what_a_plan_does_not_say_does_not_let_it_pass() -> None:
    told = settings("domain_specific", expression="confidence >= 0.6 && score >= 0.5")
    assert decision(told, 0.9, 0.9) == "retry"
    assert decision(told, 0.9, 0.9, plan={"confidence": 0.7}) == "commit"


def test_a_command_decides_on_the_plan() -> None:
    told = settings("domain_specific", command="./gate")
    yes = RuleVerdict(rule="critics", passed=True)
    assert decision(told, 0.1, 0.1, word=yes) == "commit"
    assert decision(told, 1.0, 1.0, word=gates.says_no("exited with 1", "too bold")) == "retry"
    assert decision(told, 1.0, 1.0) == "reject"


def test_facts_are_those_that_are_documented() -> None:
    whole = case(0.5, 0.9, plan={"confidence": 0.5}, architect=ArchitectReview(verdict="approve"))
    assert set(facts(whole)) == set(SAMPLE)
    assert {name: type(value) for name, value in facts(whole).items()} == {
        name: type(value) for name, value in SAMPLE.items()
    }
    assert facts(whole)["expected"] == 5.0
    assert "confidence" not in facts(case())


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (settings("domain_specific"), "neither is set"),
        (settings("domain_specific", expression="score > 0", command="x"), "both are set"),
        (settings("domain_specific", expression="score >"), "neither true nor false"),
        (settings("domain_specific", expression="score"), "neither true nor false"),
        (settings("domain_specific", expression="scoer >= 0.5"), "neither true nor false"),
        (settings("domain_specific", expression="family >= 0.5"), "of score, lowest"),
        (settings("weighted_threshold", weights={"critic_3": 1}), "'critic_3' reviews nothing"),
        (settings("weighted_threshold", weights={"critic": 0}), "nobody's score counts"),
    ],
)
def test_a_gate_that_cannot_decide_is_refused(given: Settings, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        gates.ensure(given)


def test_gates_that_can_decide_are_not() -> None:
    for told in (
        settings(),
        settings("weighted_threshold"),
        settings("weighted_threshold", weights={"critic": 0, "critic_2": 1}),
        settings("weighted_threshold", number_of_max_critics=0),
        settings("domain_specific", expression="'py 3' in target_files || critics == 2"),
        settings("domain_specific", expression="target_files.all(f, f.startsWith('src/'))"),
        settings("domain_specific", command="./gate"),
    ):
        gates.ensure(told)


@pytest.mark.parametrize("weights", [{"planner": 1}, {"critic": -1}])
def test_weights_are_of_reviewers(weights: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"planner' is no reviewer|critic weighs -1"):
        settings("weighted_threshold", weights=weights)


def test_a_change_is_decided_on_by_its_critics() -> None:
    def decided(told: Settings, *scores: float, turn: int = 1) -> tuple[str, str]:
        said = [CriticReply(score=score, issues=["vague"]) for score in scores]
        gate = gates.decide_change(said, turn, told)
        return gate.decision, gate.next_action.get("to_step", "")

    assert decided(settings(), 1.0, 0.9) == ("commit", "measurement")
    assert decided(settings(), 1.0, 0.5) == ("retry", "execution")
    assert decided(settings(), 1.0, 0.5, turn=3) == ("reject", "")
    weighted = settings("weighted_threshold", weights={"critic_1": 9})
    assert decided(weighted, 1.0, 0.5)[0] == "commit"
    own = settings("domain_specific", expression="score >= 2")
    assert decided(own, 1.0, 0.9)[0] == "commit"
