"""What every test relies on."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# A busy machine is no failure, and a failure has to come back on the next run.
settings.register_profile(
    "quick",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("quick")
