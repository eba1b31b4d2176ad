"""Measuring the incumbent anew."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from selfimprove.bench.measure import Measured
from selfimprove.contracts.benchmark import Fingerprint, Sample
from selfimprove.contracts.settings import Settings
from selfimprove.setup.begin import RUNS, remeasure
from selfimprove.store.state import Facts, Incumbent
from selfimprove.testing.records import FACTS

MARK = Fingerprint(
    protocol=1, machine="m", environment="e", benchmark="b", settings="s", level="off"
)


def seeds_of(command: str) -> list[int | None]:
    """The seeds of the runs that measure an incumbent anew."""
    used: list[int | None] = []

    def measure(_commit: str, log: str, seed: int | None) -> Measured:
        used.append(seed)
        return Measured(
            Sample(score=1.0, duration_s=0.1, log=log), raw="", keys=frozenset(), primary="x"
        )

    deps: Any = SimpleNamespace(
        bench=SimpleNamespace(measure=measure),
        config=SimpleNamespace(settings=Settings(benchmark_command=command)),
    )
    state: Any = SimpleNamespace(
        incumbent=Incumbent(commit="c", score=2.0, sub_scores={}),
        facts=Facts.parse(FACTS, "facts"),
        number=3,
        fingerprint=MARK,
    )
    list(remeasure(state, deps, MARK, "fingerprint changed"))
    return used


def test_the_incumbent_is_measured_anew_with_fresh_seeds() -> None:
    seeds = seeds_of("bench --seed {seed}")
    assert len(set(seeds)) == RUNS
    assert None not in seeds
    assert seeds_of("bench") == [None] * RUNS
