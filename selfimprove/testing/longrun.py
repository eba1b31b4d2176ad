"""Makes a long record of a short run: its last round again and again, as the loop would write it.

    play.run(max_iterations=1)
    lengthen(play.layout, 5_000)    # as if 5,000 rounds had been run, which can be gone on with

The round that is repeated must have merged nothing: its refs are not made again.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from unittest.mock import patch

from selfimprove.contracts.envelope import Draft, Envelope, control
from selfimprove.store import layout
from selfimprove.store.files import array_bytes, rows_of
from selfimprove.store.fold import fold_one
from selfimprove.store.journal import Journal
from selfimprove.store.layout import Layout
from selfimprove.store.rebuild import rebuild
from selfimprove.store.record import envelopes, load_state


def lengthen(root: Layout, rounds: int) -> None:
    """Repeat the last round until there are so many; the documents follow from the journal."""
    state = load_state(root)
    assert state.facts is not None
    number = state.number
    assert state.round is not None
    assert state.round.history is not None
    assert state.round.history.winner is None, "a round that merged cannot be repeated"
    template = _template(envelopes(root, number))
    with patch.object(os, "fsync", lambda _: None):
        journal = Journal(root.journal, state.facts.run_id)
        for later in range(number + 1, rounds + 1):
            for draft in _renumbered(template, number, later):
                state = fold_one(state, journal.append(draft))
            end = control(f"round_{later}", "checkpoint")
            after = fold_one(state, journal.preview(end))
            payload = {**end.payload, "state": after.document()}
            state = fold_one(state, journal.append(end.model_copy(update={"payload": payload})))
        rebuild(root)


def fill(root: Layout, rounds: int) -> None:
    """Repeat what is looked at of the last round, without a journal: its history, report, rows."""
    number = load_state(root).number
    rows = rows_of((root.root / layout.RAW_DATA).read_bytes())
    mine = [row for row in rows if row.startswith(f'{{"iteration": {number},'.encode())]
    for later in range(number + 1, rounds + 1):
        for place in (layout.history_path, layout.merge_report_path):
            text = (root.root / place(number)).read_text()
            (root.root / place(later)).write_text(_numbered(text, number, later))
        rows += [_numbered(row.decode(), number, later).encode() for row in mine]
    (root.root / layout.RAW_DATA).write_bytes(array_bytes(rows))


def _numbered(text: str, old: int, new: int) -> str:
    """The same text of another round."""
    fields = rf'("(?:iteration|iterations|round|patience_count)": ){old}(?=[,}}\n])'
    return re.sub(fields, rf"\g<1>{new}", text.replace(f"round_{old}", f"round_{new}"))


def _template(lines: list[Envelope]) -> list[str]:
    """The drafts of a round from its start to its end, without what ended the process."""
    names = [line.payload.get("event") for line in lines]
    first = names.index("round_started")
    ends = ("stopped", "run_opened", "checkpoint")
    kept = [line for line in lines[first:] if line.payload.get("event") not in ends]
    fields = set(Draft.model_fields)
    return [json.dumps(line.model_dump(mode="json", include=fields)) for line in kept]


def _renumbered(template: list[str], old: int, new: int) -> Iterator[Draft]:
    for text in template:
        draft = Draft.model_validate_json(_numbered(text, old, new))
        if draft.payload.get("event") == "decided":
            payload = {**draft.payload, "decision": "go_on", "reason": ""}
            draft = draft.model_copy(update={"payload": payload})
        yield draft
