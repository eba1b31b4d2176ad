from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfimprove.bench.compare import candidate_first, holds, pairs_wanted
from selfimprove.bench.stats import better
from selfimprove.contracts.benchmark import Pair, Sample

scores = st.floats(min_value=-1e9, max_value=1e9)
directions = st.sampled_from(["higher_is_better", "lower_is_better"])
three = st.lists(st.tuples(scores, scores), min_size=3, max_size=6)


def pairs(figures: list[tuple[float, float]]) -> list[Pair]:
    return [
        Pair(
            incumbent=Sample(score=before, duration_s=1, seed=index),
            candidate=Sample(score=after, duration_s=1, seed=index),
            candidate_first=candidate_first(index),
        )
        for index, (before, after) in enumerate(figures)
    ]


@given(three, directions, st.booleans())
def test_nothing_holds_against_itself(figures, direction, deterministic):
    same = pairs([(before, before) for before, _ in figures])
    assert holds(same, direction, deterministic).holds is False


@given(three, directions, st.booleans())
def test_a_and_b_never_both_hold(figures, direction, deterministic):
    one = holds(pairs(figures), direction, deterministic)
    other = holds(pairs([(after, before) for before, after in figures]), direction, deterministic)
    assert not (one.holds and other.holds)


@given(three, directions, st.booleans())
def test_what_holds_won_every_pair_and_has_a_better_median(figures, direction, deterministic):
    verdict = holds(pairs(figures), direction, deterministic)
    won = [better(before, after, direction) for before, after in figures]
    assert verdict.holds is all(won)
    if verdict.holds:
        assert better(verdict.score_before, verdict.score_after, direction)
        assert verdict.gain >= 0


@given(three, directions)
def test_mirroring_the_metric_mirrors_nothing_in_the_verdict(figures, direction):
    other = "lower_is_better" if direction == "higher_is_better" else "higher_is_better"
    mirrored = [(-before, -after) for before, after in figures]
    assert (
        holds(pairs(figures), direction, False).holds == holds(pairs(mirrored), other, False).holds
    )


@given(three, directions, st.floats(min_value=0, max_value=1e6))
def test_making_the_candidate_better_never_loses_a_win(figures, direction, step):
    sign = 1 if direction == "higher_is_better" else -1
    improved = [(before, after + sign * step) for before, after in figures]
    if holds(pairs(figures), direction, False).holds:
        assert holds(pairs(improved), direction, False).holds


def test_more_pairs_are_wanted_until_three_are_won_or_one_is_lost():
    assert holds([], "lower_is_better", False).holds is None
    verdict = holds(pairs([(10, 9), (10, 9)]), "lower_is_better", False)
    assert (verdict.holds, verdict.reason) == (None, "won 2 of 3 pairs so far")
    assert holds(pairs([(10, 9)]), "lower_is_better", True).holds is True
    lost = holds(pairs([(10, 9), (10, 11)]), "lower_is_better", False)
    assert (lost.holds, lost.reason) == (False, "lost pair 2 (11 against 10)")
    assert "tied pair 1" in holds(pairs([(10, 10)]), "lower_is_better", False).reason
    assert "exactly equal" in holds(pairs([(10, 10)]), "lower_is_better", True).reason
    assert (pairs_wanted(True), pairs_wanted(False)) == (1, 3)


def test_the_gain_is_taken_within_pairs_so_that_drift_does_not_enter():
    drifting = pairs([(100, 90), (200, 180), (400, 360)])
    assert holds(drifting, "lower_is_better", False).gain == pytest.approx(0.1)


def test_an_unfair_comparison_is_refused():
    good = pairs([(10, 9), (10, 9)])
    with pytest.raises(ValueError, match="same order"):
        holds([good[0], good[0]], "lower_is_better", False)
    odd = good[0].model_copy(update={"candidate": Sample(score=1, duration_s=1, seed=99)})
    with pytest.raises(ValueError, match="two seeds"):
        holds([odd], "lower_is_better", False)
