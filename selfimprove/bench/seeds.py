"""Seeds for benchmarks that take one: fresh for each pair, the same on both sides, repeatable."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Literal

from selfimprove.contracts.settings import Settings

Purpose = Literal["baseline", "screening", "tournament", "confirmation", "closing", "final"]

PLACEHOLDER = "{seed}"
_BITS = 31  # fits a C int, numpy and every language's own generator


def pair_seed(key: str, round_number: int, pair: int, purpose: Purpose = "tournament") -> int:
    """The seed of a pair of measurements; `key` is the run's, and no agent should know it."""
    text = f"{key}\0{round_number}\0{purpose}\0{pair}"
    return int.from_bytes(sha256(text.encode()).digest()[:8], "big") >> (64 - _BITS)


def takes_seed(command: str, seed_env: str) -> bool:
    """Whether a benchmark can be given a seed at all."""
    return bool(seed_env) or PLACEHOLDER in command


def seed_for(
    settings: Settings, key: str, round_number: int, index: int, purpose: Purpose
) -> int | None:
    """The seed of a run or a pair; None where the benchmark takes none."""
    if not takes_seed(settings.benchmark_command, settings.seed_env):
        return None
    return pair_seed(key, round_number, index, purpose)


def seeded(command: str, seed: int | None, seed_env: str) -> tuple[str, Mapping[str, str]]:
    """The command with `{seed}` filled in, and the variables that carry the seed."""
    if seed is None:
        return command.replace(PLACEHOLDER, "0"), {seed_env: "0"} if seed_env else {}
    return command.replace(PLACEHOLDER, str(seed)), {seed_env: str(seed)} if seed_env else {}
