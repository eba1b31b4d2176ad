"""A run as hand-made drafts: what the loop would journal, in small."""

from __future__ import annotations

from selfimprove.contracts.benchmark import Fingerprint, Measurement, Sample
from selfimprove.contracts.tracking import Baseline

FINGERPRINT = Fingerprint(
    protocol=1, machine="m", environment="e", benchmark="b", settings="s", level="off"
)


def baseline(score: float, interval: tuple[float, float] | None = None) -> Baseline:
    sample = Sample(score=score, duration_s=1.0)
    return Baseline(
        metric="total_ms",
        direction="lower_is_better",
        score=score,
        deterministic=False,
        commit="a" * 40,
        measurement=Measurement(samples=[sample], interval=interval, fingerprint=FINGERPRINT),
        timestamp="2026-01-01T00:00:00.000Z",
    )
