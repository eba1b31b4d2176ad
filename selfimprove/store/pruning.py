"""Prunes the journal of a run: rounds long ago become archived ones."""

from __future__ import annotations

import json
from collections.abc import Iterator

from selfimprove.errors import ConfigError
from selfimprove.store.archive import Pruned, cut_for, drop_pruned, write_anchor
from selfimprove.store.journal import read_lines, segment_numbers
from selfimprove.store.layout import Layout
from selfimprove.store.rebuild import derive, findings


def prune(root: Layout, keep: int) -> Pruned:
    """Take away the lines of all but the last `keep` whole rounds; raises ConfigError.

    Every document stays. What is pruned must be sound: afterwards nothing could tell.
    """
    cut = cut_for(root, keep)
    if found := findings(root):
        raise ConfigError(f"{root.root}: {found[0]}", "see `selfimprove validate`, mend it first")
    derived = derive(root, upto=cut)
    write_anchor(root, cut, derived.files, derived.rows)
    return drop_pruned(root, sorted(set(reply_keys(root, cut))))


def reply_keys(root: Layout, upto: int) -> Iterator[str]:
    """The kept replies that the lines of these rounds speak of."""
    for number in segment_numbers(root.journal):
        if number <= upto:
            yield from replies_of(root, number)


def replies_of(root: Layout, number: int) -> Iterator[str]:
    """The kept replies that one round's lines speak of."""
    for line in read_lines(root.segment(number)):
        if b'"agent.ask"' in line and b'"reply"' in line:
            result = json.loads(line)["payload"].get("result", {})
            if "reply" in result:
                yield result["reply"]
