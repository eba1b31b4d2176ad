from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfimprove.bench.screening import Race, dropped, estimate, next_runs, race_on, ranked
from selfimprove.contracts.base import Direction
from selfimprove.contracts.benchmark import INCUMBENT

HIGHER = Race("higher_is_better", 0.03)


def race(race_: Race, truth: dict[str, float], seed: int = 1) -> dict[str, list[float]]:
    rng, runs = random.Random(seed), {name: [] for name in truth}
    while wanting := next_runs(race_, runs):
        for name in wanting:
            runs[name].append(truth[name] * (1 + race_.noise * rng.gauss(0, 1)))
    return runs


def test_a_clear_leader_ends_the_race_early_and_a_close_one_gets_more_runs():
    assert [len(runs) for runs in race(HIGHER, {"a": 100, "b": 200, "c": 90}).values()] == [3, 3, 3]
    close = race(HIGHER, {"a": 100, "b": 100.5, "c": 50})
    assert len(close["a"]) == len(close["b"]) == 5
    assert len(close["c"]) == 3


def test_what_repeats_is_run_once():
    exact = Race("lower_is_better", 0.0)
    runs = race(exact, {"a": 3.0, "b": 2.0})
    assert [len(each) for each in runs.values()] == [1, 1]
    assert ranked(exact, runs) == ["b", "a"]


def test_the_order_turns_so_that_nobody_is_always_first():
    firsts = []
    runs: dict[str, list[float]] = {"a": [], "b": [], "c": []}
    for _ in range(3):
        wanting = next_runs(HIGHER, runs)
        firsts.append(wanting[0])
        for name in wanting:
            runs[name].append(100.0)
    assert sorted(firsts) == ["a", "b", "c"]


def test_one_wild_run_moves_no_estimate_far():
    assert estimate([1.0, 1.1, 0.9, 1.0, 50.0]) < 1.2


def test_worse_than_the_incumbent_beyond_noise_is_out():
    runs = {"a": [80.0, 81.0, 82.0], "b": [99.0, 100.0, 101.0], "c": []}
    out = dropped(HIGHER, runs, [100.0, 100.0, 100.0])
    assert list(out) == ["a"]
    assert "worse by 0.19" in out["a"]
    assert ranked(HIGHER, runs, [100.0]) == ["b"]
    assert "a" not in next_runs(HIGHER, runs, [100.0])
    slower = Race("lower_is_better", 0.03)
    assert list(dropped(slower, {"a": [120.0], "b": [80.0]}, [100.0])) == ["a"]


numbers = st.lists(st.floats(min_value=0.1, max_value=100), min_size=1, max_size=5)


@given(st.dictionaries(st.sampled_from("abcde"), numbers, min_size=1), st.floats(0, 1))
def test_the_race_ends_and_ranks_everybody_left(runs, noise):
    asked = Race("higher_is_better", noise)
    left = {name: list(scores) for name, scores in runs.items()}
    for _ in range(6):
        for name in next_runs(asked, left):
            left[name].append(1.0)
    assert next_runs(asked, left) == []
    assert sorted(ranked(asked, left)) == sorted(runs)
    assert all(len(scores) <= 5 for scores in left.values())


def test_the_incumbent_runs_in_turn_with_the_candidates():
    runs: dict[str, list[float]] = {"a": [], "b": []}
    beside: list[float] = []
    orders = []
    while wanting := next_runs(HIGHER, runs, beside):
        orders.append(wanting)
        for name in wanting:
            (beside if name == INCUMBENT else runs[name]).append(100.0)
    assert orders[:3] == [["a", "b", INCUMBENT], ["b", INCUMBENT, "a"], [INCUMBENT, "a", "b"]]
    assert len(beside) == 3
    assert INCUMBENT not in next_runs(HIGHER, {}, [])  # nobody to be held against it


def test_a_stored_score_that_is_exact_is_not_measured_again():
    exact = race_on("lower_is_better", [[90.0], [80.0]], exact=True)
    assert next_runs(exact, {"a": [80.0], "b": []}, [90.0]) == ["b"]
    assert list(dropped(exact, {"a": [80.0], "b": [91.0]}, [90.0])) == ["b"]


def test_few_runs_that_happen_to_agree_do_not_make_noise_small():
    """Three baseline runs within 0.1%: their spread says little, and nobody is dropped by it."""
    race_ = race_on("higher_is_better", [[100.0, 100.05, 100.1]])
    assert race_.freedom == 2
    assert race_.reach(3, 1, 1) == pytest.approx(19.2 * race_.noise * math.sqrt(2), rel=0.01)
    assert dropped(race_, {"a": [99.0]}, [100.0]) == {}
    assert list(dropped(Race("higher_is_better", race_.noise), {"a": [99.0]}, [100.0])) == ["a"]


def test_scores_at_zero_are_compared_by_their_difference():
    race_ = race_on("higher_is_better", [[3.0, 4.0, 5.0], [0.0, 1.0]])
    assert race_.scale == "difference"
    assert ranked(race_, {"a": [0.0, 1.0], "b": [4.0]}, [4.0]) == ["b", "a"]


several = st.lists(st.floats(min_value=0.1, max_value=100), min_size=2, max_size=5)
directions = st.sampled_from(["higher_is_better", "lower_is_better"])


@given(st.lists(several, min_size=1, max_size=5), directions)
def test_pooled_noise_lies_within_what_the_groups_show(
    groups: list[list[float]], direction: Direction
) -> None:
    apart = [race_on(direction, [group]).noise for group in groups]
    race_ = race_on(direction, groups)
    assert race_.freedom == sum(len(group) - 1 for group in groups)
    assert min(apart) * 0.999 <= race_.noise <= max(apart) * 1.001
    assert race_.reach(3, 2, 2) >= Race(direction, race_.noise).reach(3, 2, 2)


@given(
    st.dictionaries(st.sampled_from("abcde"), several, min_size=1),
    several,
    st.sampled_from([0.5, 1.25, 4.0]),
    directions,
)
def test_a_machine_that_is_slower_since_the_baseline_changes_nothing(
    runs: dict[str, list[float]], beside: list[float], slower: float, direction: Direction
) -> None:
    baseline = [10.0, 11.0, 12.0]
    told = []
    for factor in (1.0, slower):
        now = {name: [score * factor for score in scores] for name, scores in runs.items()}
        held = [score * factor for score in beside]
        race_ = race_on(direction, [baseline, held, *now.values()])
        told.append(set(dropped(race_, now, held)))
    assert told[0] == told[1]
