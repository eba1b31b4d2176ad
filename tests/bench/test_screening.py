from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from selfimprove.bench.screening import Race, dropped, estimate, next_runs, ranked

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
