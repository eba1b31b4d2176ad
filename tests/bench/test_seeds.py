from __future__ import annotations

from selfimprove.bench.seeds import pair_seed, seeded, takes_seed


def test_seeds_repeat_and_differ_in_every_part():
    first = pair_seed("run", 1, 0, "tournament")
    assert first == pair_seed("run", 1, 0, "tournament")
    others = {
        pair_seed("run2", 1, 0, "tournament"),
        pair_seed("run", 2, 0, "tournament"),
        pair_seed("run", 1, 1, "tournament"),
        pair_seed("run", 1, 0, "confirmation"),
        pair_seed("run", 11, 0, "tournament"),
        first,
    }
    assert len(others) == 6
    assert all(0 <= seed < 2**31 for seed in others)


def test_a_seed_reaches_the_command_or_the_environment():
    assert seeded("bench --seed {seed} {seed}", 7, "") == ("bench --seed 7 7", {})
    assert seeded("bench", 7, "SEED") == ("bench", {"SEED": "7"})
    assert seeded("bench {seed}", None, "") == ("bench 0", {})
    assert takes_seed("x {seed}", "")
    assert takes_seed("x", "SEED")
    assert not takes_seed("x", "")
