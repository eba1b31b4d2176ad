"""Journals what the verifier says of an executor's change, once for each of its commits."""

from __future__ import annotations

from collections.abc import Generator

from selfimprove.contracts.envelope import VERIFIER, Draft, critique
from selfimprove.contracts.settings import Settings
from selfimprove.contracts.verify import VerifyResult
from selfimprove.steps.base import round_of, topic
from selfimprove.store.state import State


def criticised(settings: Settings) -> bool:
    """Whether critics look at changes, so that their scores count in a verification."""
    return settings.critique_execution and settings.number_of_max_critics > 0


def note_verified(
    state: State, name: str, commit: str, found: VerifyResult
) -> Generator[Draft, State, State]:
    """Journal a verification, unless it is already."""
    before = round_of(state).executors[name].verified
    if commit in before:
        return state
    about = topic(state, "execution", name)
    more = {"commit": commit, "attempt": len(before) + 1}
    return (yield critique(about, VERIFIER, executor=name, **more, **found.document()))
