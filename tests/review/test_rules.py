from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfimprove.contracts.base import FAMILIES
from selfimprove.contracts.plan import HistoryReference, PlanChange
from selfimprove.review import rules
from selfimprove.review.context import ReviewContext, history_key, loser_index, plan_key
from selfimprove.review.rules import review_plan

from .samples import context, plan


def codes(subject: Any, facts: ReviewContext) -> set[str]:
    verdicts = review_plan(subject, facts)
    assert all(v.message and v.remedy for v in verdicts if not v.passed)
    return {verdict.code for verdict in verdicts if not verdict.passed}


def test_an_honest_plan_passes_every_rule() -> None:
    assert codes(plan(), context()) == set()
    assert codes(plan(target="src/new/deep.py"), context()) == set()


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"hypothesis": "none"}, "no_hypothesis"),
        ({"hypothesis": "1. cache it\n2. batch it"}, "several_hypotheses"),
        ({"hypothesis": "a" * 5000}, "too_long"),
        ({"approach_family": "optimisation"}, "unknown_family"),
        ({"approach_family": "documentation"}, "documentation_out_of_scope"),
        ({"target": "/etc/passwd"}, "bad_path"),
        ({"target": "C:\\x.py"}, "bad_path"),
        ({"target": "../outside.py"}, "bad_path"),
        ({"target": "src/../../outside.py"}, "bad_path"),
        ({"target": "./src/a.py"}, "bad_path"),
        ({"target": "src/.git/config"}, "bad_path"),
        ({"target": "src/a\n.py"}, "bad_path"),
        ({"target": " "}, "bad_path"),
        ({"target": "lib/other.py"}, "out_of_scope"),
        ({"target": "src/secret.py"}, "hidden_target"),
        ({"target": "src/conftest.py"}, "sealed_target"),
        ({"target": "src"}, "out_of_scope"),
        ({"target_files": ["src/b.py"]}, "step_outside_targets"),
        ({"steps": [{"step": 1, "file": "src/a.py", "change": "x" * 30_000}]}, "too_long"),
        ({"rollback_plan": "x" * 1_000_000}, "too_long"),
        ({"target_files": ["src/a.py", *(f"src/{k}.py" for k in range(200))]}, "too_long"),
    ],
)
def test_what_is_refused(fields: dict[str, Any], code: str) -> None:
    assert code in codes(plan(**fields), context())


def test_an_unknown_family_names_the_nearest_known_one() -> None:
    verdict = rules.schema(plan(approach_family="optimisation"), context())
    assert "did you mean 'optimization'?" in verdict.remedy


def test_a_custom_family_is_as_good_as_the_contract_s() -> None:
    assert codes(plan(approach_family="kernels"), context(taxonomy=(*FAMILIES, "kernels"))) == set()


def test_hidden_is_worded_like_any_path_outside() -> None:
    hidden = rules.scope(plan(target="src/secret.py"), context())
    outside = rules.scope(plan(target="lib/x.py"), context())
    assert hidden.message.replace("src/secret.py", "lib/x.py") == outside.message
    assert hidden.remedy == outside.remedy


@pytest.mark.parametrize(
    "fields",
    [
        {"target": "bench.py"},
        {"hypothesis": "Changing how we measure should improve the score"},
        {"hypothesis": "Relaxing the evaluation script should raise accuracy"},
        {"hypothesis": "Skipping the benchmark iterations should cut the time"},
        {"hypothesis": "Reduce the number of benchmark runs; less noise"},
        {"approach_family": "testing", "hypothesis": "Rewriting the benchmark should help"},
    ],
)
def test_a_plan_that_changes_the_measurement_is_refused(fields: dict[str, Any]) -> None:
    assert "changes_measurement" in codes(plan(**fields), context())


@pytest.mark.parametrize(
    "text",
    [
        "Caching should reduce the benchmark time by 20%",
        "Replacing the list the benchmark walks by a deque should help",
        "Changing the parser, which the benchmark calls, should lower latency",
        "Removing the timer callback should reduce wakeups",
        "Scoring matches lazily should speed up the search",
    ],
)
def test_honest_twins_that_speak_of_the_benchmark_are_not_blamed(text: str) -> None:
    assert codes(plan(hypothesis=text), context()) == set()


def test_the_family_testing_is_allowed_where_it_leaves_the_score_alone() -> None:
    assert codes(plan(approach_family="testing"), context()) == set()


def test_documentation_is_for_documentation_in_scope() -> None:
    facts = context(documentation=True)
    assert codes(plan(target="docs/guide.md", approach_family="documentation"), facts) == set()
    assert codes(plan(approach_family="documentation"), facts) == {"not_documentation"}


@pytest.mark.parametrize(
    ("winners", "limit", "refused"),
    [
        (["optimization", "optimization"], 3, True),
        (["data", "optimization", "optimization"], 3, True),
        (["optimization", None, "optimization"], 3, False),
        (["optimization", "optimization", None], 3, False),
        (["optimization", "data"], 3, False),
        (["optimization"], 3, False),
        (["optimization"], 2, True),
        (["optimization"] * 2, 4, False),
        (["optimization"] * 3, 4, True),
        ([], 3, False),
    ],
)
def test_h002(winners: list[str | None], limit: int, refused: bool) -> None:
    facts = context(recent_winners=tuple(winners), streak_limit=limit)
    assert ("family_streak" in codes(plan(), facts)) is refused


FAMILY = st.sampled_from([*FAMILIES, "custom"])


@given(
    taxonomy=st.lists(FAMILY, min_size=1, unique=True),
    winners=st.lists(st.none() | FAMILY, max_size=8),
    limit=st.integers(2, 6),
)
def test_h002_never_leaves_a_round_without_an_allowed_family(
    taxonomy: list[str], winners: list[str | None], limit: int
) -> None:
    facts = context(taxonomy=tuple(taxonomy), recent_winners=tuple(winners), streak_limit=limit)
    passing = [
        family
        for family in taxonomy
        if rules.h002_family_streak(plan(approach_family=family), facts).passed
    ]
    assert len(passing) >= max(1, len(taxonomy) - 1)


def test_h003_refuses_the_later_of_two_plans_of_one_family() -> None:
    first = plan("planner_a")
    later = plan("planner_b", target="src/b.py")
    assert codes(first, context()) == set()
    assert codes(later, context(earlier=(first,))) == {"same_family"}
    assert (
        codes(later.model_copy(update={"approach_family": "data"}), context(earlier=(first,)))
        == set()
    )


def test_h003_compares_files_where_a_family_is_shared() -> None:
    shared = context(earlier=(plan("planner_a"),), narrowed=frozenset({"optimization"}))
    assert codes(plan("planner_b", target="src/b.py"), shared) == set()
    assert codes(plan("planner_b", target="src/a.py"), shared) == {"same_family"}


def test_an_exact_repeat_of_a_loser_is_refused_unless_it_is_named() -> None:
    lost = plan("planner_b", number=2)
    facts = context(losers=loser_index([lost]))
    again = plan("planner_a", number=5)
    assert codes(again, facts) == {"repeated_failure"}
    assert codes(again.model_copy(update={"hypothesis": "said otherwise"}), facts) == {
        "repeated_failure"
    }

    def avoiding(text: str) -> set[str]:
        named = HistoryReference(avoids=text)
        return codes(again.model_copy(update={"history_reference": named}), facts)

    assert avoiding("round_2_planner_b: the noise was too large") == set()
    assert avoiding("round_2_planner_bb") == {"repeated_failure"}
    assert avoiding("round_12_planner_b") == {"repeated_failure"}


TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=40)


@given(TEXT, st.integers(0, 999), st.sampled_from(["\n", "\t ", "  ", " \r\n "]))
def test_history_keys_fold_case_and_white_space(text: str, number: int, space: str) -> None:
    one = [PlanChange(step=1, file="a.py", change=f"Set {text} to {number}")]
    other = [
        PlanChange(step=1, file="a.py", change=f"  SET{space}{text.casefold()}{space}TO {number}")
    ]
    assert history_key("data", ["a.py", "b.py"], one) == history_key(
        "data", ["b.py", "a.py"], other
    )


@given(TEXT, st.integers(0, 999), st.integers(0, 999))
def test_history_keys_keep_digits(text: str, number: int, other: int) -> None:
    keys = {
        history_key("data", ["a.py"], [PlanChange(step=1, file="a.py", change=f"{text} {n}")])
        for n in (number, other)
    }
    assert len(keys) == (1 if number == other else 2)


def test_history_keys_tell_family_files_and_steps_apart() -> None:
    base = plan()
    others = [
        plan(approach_family="data"),
        plan(target_files=["src/a.py", "src/b.py"]),
        plan(steps=[{"step": 1, "file": "src/a.py", "change": "set LIMIT to 1 0"}]),
    ]
    assert len({plan_key(base), *map(plan_key, others)}) == 4


def test_a_candidate_may_change_its_plan_s_files_alone() -> None:
    assert rules.beyond_plan(plan(), ["src/a.py"]).passed
    verdict = rules.beyond_plan(plan(), ["src/a.py", "src/b.py"])
    assert (verdict.passed, verdict.code) == (False, "beyond_plan")
    assert "src/b.py" in verdict.message
