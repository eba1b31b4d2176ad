from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from selfimprove.bench.compare import candidate_first, judge, least_pairs, next_stake
from selfimprove.contracts.benchmark import Pair, Sample
from selfimprove.contracts.significance import Judgement, Stake, Trial

DIRECTIONS = ("higher_is_better", "lower_is_better")
scores = st.floats(min_value=0.1, max_value=1e6)
whole = st.integers(min_value=-50, max_value=50).map(float)  # ties, zeros and both signs
directions = st.sampled_from(DIRECTIONS)
couples = st.one_of(
    st.lists(st.tuples(scores, scores), max_size=34), st.lists(st.tuples(whole, whole), max_size=34)
)
stakes = st.sampled_from([0.05, 0.035, 0.01, 0.002])

few = settings(max_examples=40)


def pairs(figures, flags=None) -> list[Pair]:
    return [
        Pair(
            incumbent=Sample(score=before, duration_s=1, seed=index),
            candidate=Sample(score=after, duration_s=1, seed=index),
            candidate_first=flags[index] if flags else candidate_first("key", "about", index),
        )
        for index, (before, after) in enumerate(figures)
    ]


def trial(direction="higher_is_better", **more) -> Trial:
    return Trial(direction=direction, **more)


@few
@given(couples, directions, st.booleans())
def test_a_tie_or_worse_never_wins(figures, direction, deterministic):
    up = direction == "higher_is_better"
    worse = [(max(couple), min(couple)) if up else (min(couple), max(couple)) for couple in figures]
    asked = trial(direction, deterministic=deterministic, stake=0.05)
    assert judge(pairs(worse), asked).outcome != "win"
    assert judge(pairs([(one, one) for one, _ in figures]), asked).outcome != "win"


@few
@given(couples, directions, stakes)
def test_of_two_at_most_one_beats_the_other(figures, direction, stake):
    asked = trial(direction, stake=stake)
    there = judge(pairs(figures), asked)
    back = judge(pairs([(after, before) for before, after in figures]), asked)
    assert not (there.outcome == back.outcome == "win")


@few
@given(st.lists(st.tuples(whole, whole), max_size=34), stakes)
def test_a_mirrored_metric_gives_the_mirrored_judgement(figures, stake):
    assume(any(min(couple) <= 0 for couple in figures))
    assume(any(max(couple) >= 0 for couple in figures))  # differences, both ways
    one = judge(pairs(figures), trial("higher_is_better", stake=stake))
    mirrored = pairs([(-before, -after) for before, after in figures])
    other = judge(mirrored, trial("lower_is_better", stake=stake))
    assert (one.outcome, one.looks) == (other.outcome, other.looks)


@few
@given(couples, directions, st.lists(st.booleans(), min_size=34, max_size=34))
def test_the_order_within_a_pair_is_no_evidence(figures, direction, flags):
    asked = trial(direction)
    assert judge(pairs(figures, flags), asked) == judge(pairs(figures), asked)


@few
@given(couples, directions, st.integers(min_value=1, max_value=40), stakes)
def test_it_ends_within_max_pairs_and_asks_for_what_is_missing(figures, direction, most, stake):
    found = judge(pairs(figures), trial(direction, max_pairs=most, stake=stake))
    assert found.pairs + found.wanted <= max(most, found.pairs)
    assert found.pairs <= most
    assert (found.outcome == "more") == (found.wanted > 0)
    if len(figures) >= most:
        assert found.outcome != "more"
    if found.outcome == "indecisive":
        assert found.pairs == most


long = st.lists(st.tuples(scores, scores), min_size=32, max_size=32)


@few
@given(long, directions)
def test_a_settled_verdict_stands_whatever_is_measured_after(figures, direction):
    found = judge(pairs(figures), trial(direction))
    assert judge(pairs(figures[: found.pairs]), trial(direction)) == found


gains_apart = st.lists(
    st.floats(min_value=-10, max_value=10), min_size=12, max_size=32, unique_by=abs
)


@few
@given(gains_apart, st.floats(min_value=0, max_value=5))
def test_a_better_candidate_has_a_lower_p_at_every_look(gains, more):
    asked = trial(stake=0.001, max_pairs=32)
    lower = judge(pairs([(0.0, gain) for gain in gains]), asked)
    moved = [gain + more for gain in gains]
    if len({abs(gain) for gain in moved}) < len(moved):
        return  # new ties change what the coins could have given
    higher = judge(pairs([(0.0, gain) for gain in moved]), asked)
    for one, two in zip(lower.looks, higher.looks, strict=False):
        assert two.p <= one.p


@few
@given(gains_apart, st.floats(min_value=0, max_value=10))
def test_a_better_candidate_keeps_a_win_in_every_pair(gains, more):
    asked = trial(stake=0.05, max_pairs=32)
    figures = [(0.0, abs(gain) + 1e-9) for gain in gains]
    assert judge(pairs(figures), asked).outcome == "win"
    better = [(before, after + more) for before, after in figures]
    assert judge(pairs(better), asked).outcome == "win"


@few
@given(couples, directions, stakes)
def test_records_are_plain_json(figures, direction, stake):
    found = judge(pairs(figures), trial(direction, stake=stake))
    written = json.loads(json.dumps(found.document(), allow_nan=False))
    assert Judgement.parse(written, "here") == found


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_benchmark_that_repeats_needs_one_pair(direction):
    asked = trial(direction, deterministic=True)
    better, worse = (101.0, 99.0) if direction == "higher_is_better" else (99.0, 101.0)
    assert judge([], asked).wanted == 1
    assert judge(pairs([(100.0, better)]), asked).outcome == "win"
    assert judge(pairs([(100.0, worse)]), asked).outcome == "loss"
    assert judge(pairs([(100.0, 100.0)]), asked).reason.startswith("exactly equal")
    least = asked.model_copy(update={"min_effect": 0.02})
    assert judge(pairs([(100.0, better)]), least).outcome == "loss"


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(("least", "won"), [(0.09, True), (0.11, False)])
def test_the_minimum_effect_is_a_share_of_the_incumbent(direction, least, won):
    after = 110.0 if direction == "higher_is_better" else 90.0
    tenth = pairs([(100.0 + i, (100.0 + i) * after / 100) for i in range(32)])
    found = judge(tenth, trial(direction, min_effect=least))
    assert (found.outcome == "win") is won
    assert found.gain == pytest.approx(0.1)


def test_an_absolute_minimum_effect_is_a_difference():
    figures = pairs([(100.0 + i, 105.0 + i) for i in range(32)])
    assert judge(figures, trial(min_effect=4, relative=False)).outcome == "win"
    assert judge(figures, trial(min_effect=6, relative=False)).outcome == "loss"


def test_a_large_gain_takes_few_pairs_and_a_hopeless_one_fewer():
    assert judge(pairs([(1.0, 2.0 + i / 9) for i in range(32)]), trial(stake=0.035)).pairs == 8
    lost = judge(pairs([(2.0 + i / 9, 1.0) for i in range(32)]), trial(stake=0.035))
    assert (lost.outcome, lost.pairs) == ("loss", 4)


def test_two_seeds_in_a_pair_are_refused():
    bad = Pair(
        incumbent=Sample(score=1, duration_s=1, seed=1),
        candidate=Sample(score=1, duration_s=1, seed=2),
        candidate_first=False,
    )
    with pytest.raises(ValueError, match="two seeds"):
        judge([bad], trial())


@few
@given(
    st.sampled_from([0.05, 0.01, 0.2]),
    st.lists(st.booleans(), min_size=1, max_size=8),
    st.integers(min_value=5, max_value=32),
)
def test_stakes_lost_never_sum_to_more_than_alpha(alpha, outcomes, most):
    spent: list[Stake] = []
    for place, merged in enumerate(outcomes):
        stake = next_stake(alpha, spent, len(outcomes) - place, most)
        lost = sum(each.stake for each in spent if not each.merged)
        assert 0 <= stake <= alpha - lost + 1e-12
        assert stake == 0 or least_pairs(stake) <= most
        spent.append(Stake(stake=stake, merged=merged and stake > 0))


def test_a_merge_gives_its_stake_back_and_the_last_takes_all():
    first = next_stake(0.05, [], 3, 32)
    assert first == pytest.approx(0.035)
    won = [Stake(stake=first, merged=True)]
    assert next_stake(0.05, won, 2, 32) == pytest.approx(0.035)
    assert next_stake(0.05, won, 1, 32) == pytest.approx(0.05)
    assert next_stake(0.05, [Stake(stake=first, merged=False)], 1, 32) == pytest.approx(0.015)
    assert next_stake(0.05, [], 3, 4) == 0.0  # four pairs prove nothing at 5%
    assert next_stake(0.05, [], 3, 5) == 0.05  # five just do, if all is staked on one
    found = judge(pairs([(1.0, 2.0)] * 5), trial(stake=0.05, max_pairs=5))
    assert found.outcome == "win"


def test_the_coin_is_fair_repeatable_and_unlike_for_each_confirmation():
    falls = [candidate_first("key", "round 1, a", pair) for pair in range(2000)]
    assert 900 < sum(falls) < 1100
    assert 900 < sum(a != b for a, b in itertools.pairwise(falls)) < 1100
    assert falls == [candidate_first("key", "round 1, a", pair) for pair in range(2000)]
    assert falls != [candidate_first("key", "round 1, b", pair) for pair in range(2000)]
    assert falls != [candidate_first("other", "round 1, a", pair) for pair in range(2000)]
