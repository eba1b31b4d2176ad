"""Reading a run's record: the state, and the envelopes of a round."""

from __future__ import annotations

from typing import Any

from selfimprove.contracts.envelope import Envelope
from selfimprove.errors import ContractError
from selfimprove.store.fold import fold
from selfimprove.store.journal import last_checkpoint, read_segment, segment_numbers
from selfimprove.store.layout import Layout
from selfimprove.store.state import State


def envelopes(root: Layout, number: int) -> list[Envelope]:
    """The envelopes of one round; none where it has no segment."""
    path = root.segment(number)
    return read_segment(path) if path.is_file() else []


def load_state(root: Layout) -> State:
    """The state now: the last checkpoint, and what was journaled after it.

    Reads two segments at most, however long the run. An empty State where there is no journal.
    """
    return load(root)[0]


def load(root: Layout) -> tuple[State, list[Envelope]]:
    """The state now, and the envelopes of the last segment."""
    numbers = segment_numbers(root.journal)
    if not numbers:
        return State(), []
    last = envelopes(root, numbers[-1])
    saved = last_checkpoint(last)
    if saved is not None:
        return _saved(root, numbers[-1], saved), last
    before = _state_before(root, numbers[:-1])
    return fold(last, before), last


def is_saved_as(state: State, saved: dict[str, Any], where: str) -> bool:
    """Whether a checkpoint holds this state; an older one lacks what states have held since.

    Raises ContractError where it holds no state of this version.
    """
    return saved == state.document() or State.parse(saved, where) == state


def _saved(root: Layout, number: int, saved: dict[str, Any]) -> State:
    """A checkpoint's state; raises ContractError for one that today's fold did not make."""
    try:
        return State.parse(saved, f"{root.segment(number)}: checkpoint")
    except ContractError as error:
        raise ContractError(
            error.what,
            "if an earlier version wrote it, `selfimprove resume` or `validate --rebuild` migrates "
            "it, on a copy",
        ) from None


def _state_before(root: Layout, numbers: list[int]) -> State:
    """The state at the end of the last of these segments."""
    for position in range(len(numbers) - 1, -1, -1):
        found = envelopes(root, numbers[position])
        saved = last_checkpoint(found)
        if saved is not None:
            state = _saved(root, numbers[position], saved)
            later = numbers[position + 1 :]
        elif position == 0:
            state, later = State(), numbers
        else:
            continue
        for number in later:
            state = fold(envelopes(root, number), state)
        return state
    return State()
