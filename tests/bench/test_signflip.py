from __future__ import annotations

import itertools

import numpy as np
import pytest

from selfimprove.bench.looks import Looks
from selfimprove.bench.signflip import sign_patterns, signed_ranks, walk


def every_sign(pairs: int) -> np.ndarray:
    return np.array(list(itertools.product((1.0, -1.0), repeat=pairs)))


@pytest.mark.parametrize("stake", [0.05, 0.035, 0.01])
@pytest.mark.parametrize("sizes", ["all alike", "growing", "ties", "spike first", "zeros"])
def test_of_all_falls_of_the_coins_at_most_the_stake_wins(stake, sizes):
    pairs = 12
    size = {
        "all alike": np.ones(pairs),
        "growing": 3.0 ** np.arange(pairs),
        "ties": np.repeat([1.0, 2.0, 5.0], 4),
        "spike first": np.r_[100.0, np.linspace(1, 2, pairs - 1)],
        "zeros": np.r_[np.zeros(4), np.arange(1.0, 9.0)],
    }[sizes]
    found = walk(every_sign(pairs) * size, Looks(stake, pairs))
    assert (found.outcome == 1).mean() <= stake


def test_beyond_the_free_bits_the_patterns_are_a_group_and_still_exact():
    pairs, looks = 14, Looks(0.05, 14, bits=8)
    table = sign_patterns(pairs, looks.patterns())
    rows = {tuple(column) for column in table.T}
    assert len(rows) == 256
    one, other = table[:, 77], table[:, 200]
    assert tuple(one * other) in rows
    assert tuple(table[:, 0]) == (1.0,) * pairs
    found = walk(every_sign(pairs) * np.linspace(1, 2, pairs), looks, told=False)
    assert 0.02 < (found.outcome == 1).mean() <= 0.05


def test_early_looks_may_leave_out_the_columns_that_repeat():
    table = sign_patterns(32, 4096)
    for pairs in (4, 8, 12):
        assert (np.tile(table[:pairs, : 1 << pairs], (1, 4096 >> pairs)) == table[:pairs]).all()
    assert len({tuple(row) for row in table}) == 32


def test_ranks_share_ties_and_keep_the_place_of_zeros():
    found = signed_ranks(np.array([[0.0, -2.0, 2.0, 5.0]]))
    assert found.tolist() == [[0.0, -5.0, 5.0, 8.0]]


def test_many_at_once_find_what_each_alone_finds():
    rng = np.random.default_rng(1)
    effects = rng.normal(0.5, 1.4, size=(40, 32))
    looks = Looks(0.035, 32)
    together = walk(effects, looks)
    for row in range(40):
        alone = walk(effects[row : row + 1], looks)
        assert (alone.outcome[0], alone.pairs[0]) == (together.outcome[row], together.pairs[row])


def test_looks_end_at_max_pairs_and_spend_no_more_than_the_stake():
    for most in range(1, 70):
        looks = Looks(0.03, most)
        points = looks.points()
        assert points == sorted(set(points))
        assert points[-1] == most
        assert looks.allowed(most) <= 0.03 * looks.width(most)


@pytest.mark.parametrize(("stake", "error"), [(0.05, 0.062), (0.01, 0.015)])
def test_drift_does_not_mislead_where_a_coin_sets_the_order(stake, error):
    rng = np.random.default_rng(3)
    noise = rng.normal(size=(2000, 64))
    for at in range(1, 64):
        noise[:, at] = 0.5 * noise[:, at - 1] + 0.87 * noise[:, at]
    effects = (noise[:, 1::2] - noise[:, ::2]) * rng.choice([-1, 1], (2000, 32))
    assert (walk(effects, Looks(stake, 32), told=False).outcome == 1).mean() <= error
