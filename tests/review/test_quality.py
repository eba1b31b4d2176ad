"""Thresholds, refinements that go further each time, and what is remembered of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfimprove.contracts.base import FAMILIES
from selfimprove.contracts.critique import Level, Remembered, RuleVerdict, refinement_kind
from selfimprove.contracts.plan import Plan
from selfimprove.review.quality import (
    ADVICE,
    FAMILY_CODES,
    FILE_CODES,
    LEVELS,
    NO_PLAN,
    Terms,
    next_level,
    quality_report,
    threshold_for,
)

from .samples import plan

FILES = ["src/a.py", "src/b.py", "src/c.py"]
CODES = sorted({*ADVICE, *FAMILY_CODES, *FILE_CODES})
Judged = tuple[Plan, list[RuleVerdict]]


def judged(code: str = "", family: str = "data", target: str = "src/a.py") -> Judged:
    """A plan that was refused for one reason, or passed where there is none."""
    made = plan("planner_a", target=target, approach_family=family)
    return made, [RuleVerdict(rule="x", passed=not code, code=code)]


judgements = st.builds(
    judged,
    st.sampled_from(["", *CODES]),
    st.sampled_from(FAMILIES),
    st.sampled_from([*FILES, "lib/x.py"]),
)
shares = st.floats(0, 1)
memories = st.dictionaries(
    st.builds(refinement_kind, st.sampled_from([*CODES, NO_PLAN]), st.sampled_from(LEVELS)),
    st.integers(0, 9).flatmap(
        lambda n: st.builds(Remembered, tried=st.just(n), helped=st.integers(0, n))
    ),
)


def refined(plans: list[Judged], after: Level | None = None, **known: Remembered):
    report = quality_report(plans, Terms(1.0, files=FILES, after=after, known=known))
    assert report.suggested_refinement is not None
    return report.suggested_refinement


@given(st.lists(judgements, max_size=6), shares)
def test_without_thresholds_of_families_the_one_is_what_counts(
    plans: list[Judged], threshold: float
) -> None:
    report = quality_report(plans, Terms(threshold))
    assert report.meets_threshold == (bool(plans) and report.quality_score >= threshold)
    assert report.threshold is None
    assert (report.suggested_refinement is None) == report.meets_threshold


@given(
    st.lists(judgements, min_size=1, max_size=6),
    shares,
    st.dictionaries(st.sampled_from(FAMILIES), shares, min_size=1),
)
def test_a_round_is_held_to_the_mean_of_what_its_families_ask(
    plans: list[Judged], threshold: float, by_family: dict[str, float]
) -> None:
    terms = Terms(threshold, by_family)
    asked = [by_family.get(each.approach_family, threshold) for each, _ in plans]
    found = threshold_for(plans, terms)
    assert min(asked) <= found <= max(asked)
    assert found == pytest.approx(sum(asked) / len(asked))
    report = quality_report(plans, terms)
    assert report.threshold == found
    assert report.meets_threshold == (report.quality_score >= found)


def test_a_family_of_which_little_is_asked_lets_a_round_pass() -> None:
    plans = [judged(), judged("out_of_scope", "documentation"), judged("too_long", "testing")]
    assert not quality_report(plans, Terms(0.5)).meets_threshold
    easy = {"documentation": 0.1, "testing": 0.1}
    assert quality_report(plans, Terms(0.5, easy)).meets_threshold
    assert not quality_report(plans, Terms(0.5, {"data": 1.0})).meets_threshold


@given(st.sampled_from(CODES), st.sampled_from([None, *LEVELS]), memories)
def test_a_round_goes_on_to_another_level_until_it_is_at_the_last(
    cause: str, after: Level | None, known: dict[str, Remembered]
) -> None:
    level = next_level(cause, after, known)
    if after == LEVELS[-1]:
        assert level == after
    elif after is not None:
        assert LEVELS.index(level) > LEVELS.index(after)


@given(st.sampled_from(CODES))
def test_where_nothing_is_remembered_the_order_is_families_files_approach(cause: str) -> None:
    walked: list[Level] = []
    while not walked or walked[-1] != LEVELS[-1]:
        walked.append(next_level(cause, walked[-1] if walked else None, {}))
    assert tuple(walked) == LEVELS == ("families", "files", "approach")


def test_what_helped_more_often_is_chosen_and_what_never_did_is_passed_over() -> None:
    known = {"too_long/families": Remembered(tried=3, helped=0)}
    assert next_level("too_long", None, known) == "files"
    assert next_level("low_score", None, known) == "families"  # another cause
    known["too_long/approach"] = Remembered(tried=4, helped=4)
    assert next_level("too_long", None, known) == "approach"


@given(memories, st.sampled_from(CODES))
def test_more_help_never_makes_a_level_less_likely(
    known: dict[str, Remembered], cause: str
) -> None:
    chosen = next_level(cause, None, known)
    kind = refinement_kind(cause, chosen)
    before = known.get(kind, Remembered())
    more = Remembered(tried=before.tried + 1, helped=before.helped + 1)
    assert next_level(cause, None, {**known, kind: more}) == chosen


def test_the_levels_ask_for_more_and_more() -> None:
    plans = [judged("too_long", "data", "src/a.py"), judged("too_long", "testing", "src/b.py")]
    first, second, third = (refined(plans, after) for after in (None, "families", "files"))
    assert [each.level for each in (first, second, third)] == list(LEVELS)
    assert {each.cause for each in (first, second, third)} == {"too_long"}
    assert (first.families_to_avoid, first.files_in_scope) == ([], [])
    assert second.files_in_scope == ["src/c.py"]
    assert third.families_to_avoid == ["data", "testing"]
    assert third.approaches_to_avoid == [each.hypothesis for each, _ in plans]
    assert all(each.advice == [ADVICE["too_long"]] for each in (first, second, third))


def test_where_every_file_was_wanted_all_of_them_are_told() -> None:
    plans = [judged("too_long", "data", file) for file in FILES]
    assert refined(plans, "families").files_in_scope == FILES


def test_planners_are_told_what_helped_against_the_same_cause() -> None:
    known = {
        "too_long/families": Remembered(tried=3, helped=1),
        "low_score/files": Remembered(tried=2, helped=2),
    }
    assert refined([judged("too_long")], **known).earlier == [
        "families: more plans passed after 1 of 3 such refinements"
    ]


def test_without_a_plan_there_is_a_cause_all_the_same() -> None:
    found = refined([])
    assert (found.cause, found.level) == (NO_PLAN, "families")


@given(st.lists(judgements, min_size=1, max_size=6), st.sampled_from([None, *LEVELS]), memories)
def test_a_record_of_before_the_levels_is_what_it_was(
    plans: list[Judged], after: Level | None, known: dict[str, Remembered]
) -> None:
    terms = Terms(1.0, files=FILES, after=after, known=known, levels=False)
    found = quality_report(plans, terms).suggested_refinement
    if found is None:
        return
    assert set(found.document()) <= {"reason", "families_to_avoid", "files_in_scope", "advice"}
    families = {each.approach_family for each, said in plans if said[0].code in FAMILY_CODES}
    assert found.families_to_avoid == sorted(families)
    by_file = any(said[0].code in FILE_CODES for _, said in plans)
    assert found.files_in_scope == (FILES if by_file else [])


@given(st.lists(judgements, min_size=1, max_size=6), st.sampled_from([None, *LEVELS]), memories)
def test_made_again_from_the_files_it_tells_it_is_the_same(
    plans: list[Judged], after: Level | None, known: dict[str, Remembered]
) -> None:
    """As replay makes it, which knows no other files."""
    report = quality_report(plans, Terms(1.0, files=FILES, after=after, known=known))
    told = report.suggested_refinement.files_in_scope if report.suggested_refinement else []
    assert report == quality_report(plans, Terms(1.0, files=told, after=after, known=known))
