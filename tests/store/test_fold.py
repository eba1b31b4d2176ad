"""The fold: a checkpoint is what the lines before it come to, wherever reading begins."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from selfimprove.contracts.envelope import Envelope, control
from selfimprove.errors import ContractError
from selfimprove.store.fold import fold, fold_one
from selfimprove.store.journal import is_checkpoint, read_segment, segment_numbers
from selfimprove.store.record import load, load_state
from selfimprove.store.state import State
from selfimprove.testing.rehearsal import Rehearsal


@pytest.fixture(scope="module")
def ran(module_stage: Callable[..., Rehearsal]) -> Rehearsal:
    play = module_stage()
    play.run(max_iterations=2)
    return play


def everything(play: Rehearsal) -> list[Envelope]:
    layout = play.layout
    numbers = segment_numbers(layout.journal)
    return [envelope for n in numbers for envelope in read_segment(layout.segment(n))]


def test_each_checkpoint_is_the_fold_of_all_lines_before_it(ran: Rehearsal) -> None:
    state, checkpoints = State(), 0
    for envelope in everything(ran):
        state = fold_one(state, envelope)
        if is_checkpoint(envelope):
            checkpoints += 1
            assert State.parse(envelope.payload["state"], envelope.id) == state
    assert checkpoints == 3
    assert load_state(ran.layout) == state


def test_folding_on_from_a_checkpoint_is_folding_it_all(ran: Rehearsal) -> None:
    lines = everything(ran)
    for place, envelope in enumerate(lines):
        if is_checkpoint(envelope):
            saved = State.parse(envelope.payload["state"], envelope.id)
            assert fold(lines[place + 1 :], saved) == fold(lines)


def test_an_open_segment_is_folded_onto_the_checkpoint_before_it(
    ran: Rehearsal, tmp_path: Path
) -> None:
    layout = type(ran.layout)(tmp_path)
    layout.journal.mkdir(parents=True)
    for number in (0, 1, 2):
        data = ran.layout.segment(number).read_bytes().splitlines(keepends=True)
        kept = data[: len(data) // 2] if number == 2 else data
        layout.segment(number).write_bytes(b"".join(kept))
    lines = [e for n in (0, 1, 2) for e in read_segment(layout.segment(n))]
    state, last = load(layout)
    assert state == fold(lines)
    assert last == read_segment(layout.segment(2))
    assert state.round is not None
    assert (state.number, state.round.status) == (2, "in_progress")


def test_an_event_of_another_form_is_refused_in_words(ran: Rehearsal) -> None:
    lines = everything(ran)
    at = next(k for k, line in enumerate(lines) if line.payload.get("event") == "confirming")
    before, last = lines[:at], lines[at]
    older = {name: value for name, value in last.payload.items() if name != "trial"}
    with pytest.raises(ContractError, match=f"{last.id}: 'trial' is not in it"):
        fold([*before, last.model_copy(update={"payload": older})])


def test_an_event_that_nobody_knows_is_refused(ran: Rehearsal) -> None:
    known = everything(ran)[0]
    odd = known.model_copy(update={"payload": control("run", "invented").payload})
    with pytest.raises(ContractError, match="no event 'invented'"):
        fold_one(State(), odd)
