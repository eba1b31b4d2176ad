"""`replay`: fold a round again and derive its decisions from the record alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from selfimprove.contracts.envelope import Envelope
from selfimprove.errors import ConfigError
from selfimprove.places import root_of
from selfimprove.steps.replaying import Known, differences
from selfimprove.store.archive import read_anchor
from selfimprove.store.attempts import Attempts
from selfimprove.store.fold import fold_one
from selfimprove.store.journal import last_checkpoint
from selfimprove.store.layout import Layout
from selfimprove.store.record import envelopes, is_saved_as
from selfimprove.store.state import State
from selfimprove.vcs.target import open_target

if TYPE_CHECKING:
    from selfimprove.app.options import ReplayOptions


def replay(options: ReplayOptions) -> int:
    """Compare every decision of a round with what its records lead to; 1 where one differs."""
    top = options.root or root_of(open_target(options.repo).top, options.topic)
    layout = Layout(top.absolute())
    anchor = read_anchor(layout)
    if anchor and options.round <= anchor.round:
        raise ConfigError(
            f"round {options.round} cannot be replayed: rounds to {anchor.round} are archived",
            f"replay one from round {anchor.round + 1} on",
        )
    lines = envelopes(layout, options.round)
    follows = anchor is not None and options.round == anchor.round + 1
    before = [anchor.last()] if anchor and follows else envelopes(layout, options.round - 1)
    saved = last_checkpoint(before)
    if not lines or saved is None:
        raise ConfigError(
            f"round {options.round} is not in the journal of {layout.root}", "see history"
        )
    state = State.parse(saved, f"checkpoint of round {options.round - 1}")
    tried = [row for row in Attempts(layout.attempts).rows() if row["round"] < options.round]
    found = list(_differences(state, lines, Known(tried)))
    if options.json:
        print(json.dumps({"round": options.round, "differences": found}, indent=2))  # noqa: T201
    else:
        for line in found or [f"round {options.round}: every decision is derived again"]:
            print(line)  # noqa: T201
    return 1 if found else 0


def _differences(state: State, lines: list[Envelope], known: Known) -> Iterator[str]:
    for envelope in lines:
        yield from differences(state, envelope, known)
        state = fold_one(state, envelope)
        saved = envelope.payload.get("state") if envelope.type == "control" else None
        if saved is not None and not is_saved_as(state, saved, envelope.id):
            yield f"{envelope.id}: the checkpoint is not what the round's lines fold to"
