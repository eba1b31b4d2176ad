"""What the noise allows, in words and figures."""

from __future__ import annotations

import pytest

from selfimprove.contracts.settings import Settings
from selfimprove.setup.outlook import drift, outlook, provable

NOISY = (100.0, 103.0, 97.0)


def few(pairs: int) -> Settings:
    return Settings.parse({"significance": {"max_pairs": pairs}}, "a test")


def test_a_benchmark_that_repeats_proves_any_gain() -> None:
    assert provable((9.0, 9.0, 9.0), Settings()) == 0.0
    assert "repeats exactly" in outlook((9.0, 9.0, 9.0), 0.5, Settings())


def test_more_pairs_prove_less() -> None:
    many, some = provable(NOISY, few(32)), provable(NOISY, few(8))
    assert many is not None
    assert some is not None
    assert 0 < many < 0.05 < some
    told = outlook(NOISY, 0.5, few(32))
    assert told.startswith("a run takes 0.5 s, spread 3.0")
    assert f"a gain of {many:.2%} can be proven with 32 pairs" in told


def test_too_few_pairs_prove_nothing_and_it_is_said() -> None:
    assert provable(NOISY, few(3)) is None
    assert "no gain can be proven with 3 pairs" in outlook(NOISY, 0.5, few(3))


def test_max_pairs_follows_from_the_time_there_is_and_is_told() -> None:
    told = outlook(NOISY, 1.0, Settings(), 300.0)
    assert "can be proven with 15 pairs" in told  # ten rounds of them in 300 s, two runs a pair
    assert "a round measures for about 55 s, agents aside: 5 fit" in told
    assert "with 32 pairs" in outlook(NOISY, 1.0, Settings())
    budget = Settings.parse({"budget": {"run": {"minutes": 5}}}, "a test")
    assert outlook(NOISY, 1.0, budget) == told
    assert "with 12 pairs" in outlook(NOISY, 1.0, few(12), 300.0)


def test_drift_is_the_later_runs_against_the_earlier() -> None:
    assert drift((100.0, 100.0, 110.0, 110.0)) == pytest.approx(0.1)
    assert drift((-1.0, 0.0, 2.0)) == 3.0
    assert drift((5.0,)) == 0.0
