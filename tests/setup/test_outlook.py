"""What the noise allows, in words and figures."""

from __future__ import annotations

from selfimprove.contracts.settings import Settings
from selfimprove.setup.outlook import outlook, provable

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
