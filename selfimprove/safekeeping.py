"""The record outlives its folder: a run's documents, as commits in its target.

Each checkpoint and each stop adds a commit to `refs/selfimprove/<topic>`, which is no branch and
which nothing checks out. A root that is lost, to `git clean` or with the machine that ran it, is
restored from there; `git push origin 'refs/selfimprove/*'` shares it.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

from selfimprove.contracts.envelope import Envelope, control
from selfimprove.errors import ToolError
from selfimprove.names import record_ref
from selfimprove.store import layout as places
from selfimprove.store.files import write_whole
from selfimprove.store.journal import Journal, is_checkpoint, segment_numbers
from selfimprove.store.layout import Layout
from selfimprove.store.pruning import replies_of
from selfimprove.store.rebuild import rebuild
from selfimprove.store.record import load_state
from selfimprove.store.state import State
from selfimprove.vcs.git import Git
from selfimprove.vcs.importing import NewCommit, importing
from selfimprove.vcs.snapshots import blob_id, listed, read, tip

LARGE = 1 << 16
GROWTH = 1.1
"""A larger document that grows by rows is stored again once it has grown by a tenth, and at a stop:
its rows stand in the journal, and a copy of it a round would outgrow the repository."""
_MARK = re.compile(r"^Run: (\S+)\nSegment: (\d+)$", re.MULTILINE)
_RESTORING = "state/.journal"


class Keeper:
    """Stores the documents of one root as the run goes on; an observer of its journal."""

    def __init__(self, git: Git, topic: str, layout: Layout, say: Callable[[str], None]) -> None:
        self._git = git
        self._ref = record_ref(topic)
        self._layout = layout
        self._say = say
        self._tip: str | None = None
        self._segment = -1
        """The last segment that is stored, perhaps in part."""
        self._run = ""
        self._sizes: dict[str, int] = {}

    def __call__(self, envelope: Envelope, state: State) -> None:
        """Store what there is at a checkpoint, and when the process lets the run go."""
        ended = envelope.type == "control" and envelope.payload.get("event") == "stopped"
        if state.baseline is not None and (ended or is_checkpoint(envelope)):
            self.keep(state, envelope.timestamp, whole=ended)

    def keep(self, state: State, date: str, *, whole: bool) -> None:
        """Store what has changed; a repository that takes nothing ends no run."""
        assert state.facts is not None
        try:
            if self._tip is None:
                self._tip, told = tip(self._git, self._ref)
                found = _MARK.search(told)
                self._run, self._segment = (found[1], int(found[2])) if found else ("", -1)
            same = self._run == state.facts.run_id
            first = self._segment if same else 0
            numbers = [n for n in segment_numbers(self._layout.journal) if n >= first]
            last = numbers[-1] if numbers else 0
            message = _message(state, last)
            about = NewCommit(self._ref, message, date, self._tip, afresh=not same)
            with importing(self._git, about) as commit:
                commit.remove("plans")
                for path, data in chain(*map(self._of_round, numbers), self._singles(whole=whole)):
                    commit.put(path, data)
                self._tip = commit.finish()
            self._run, self._segment = state.facts.run_id, last
        except ToolError as error:
            self._tip = None
            self._say(f"the record could not be stored at {self._ref}: {error}")

    def _of_round(self, number: int) -> Iterator[tuple[str, bytes]]:
        root = self._layout.root
        for path in places.round_files(self._layout, number):
            if path.is_file():
                yield path.relative_to(root).as_posix(), path.read_bytes()
        for key in replies_of(self._layout, number):
            path = self._layout.replies / f"{key}.json"
            if path.is_file():
                yield path.relative_to(root).as_posix(), path.read_bytes()

    def _singles(self, *, whole: bool) -> Iterator[tuple[str, bytes]]:
        root = self._layout.root
        for path in places.single_files(self._layout):
            if not path.is_file():
                continue
            name = path.relative_to(root).as_posix()
            data = path.read_bytes()
            before = self._sizes.get(name, 0)
            if not whole and before > LARGE and before <= len(data) < before * GROWTH:
                continue
            self._sizes[name] = len(data)
            yield name, data


def _message(state: State, segment: int) -> str:
    assert state.facts is not None
    subject = f"{state.facts.topic}: round {state.number}, {state.status}"
    return f"{subject}\n\nRun: {state.facts.run_id}\nSegment: {segment}\n"


def kept(git: Git, topic: str) -> bool:
    """Whether the target holds the record of a run of this topic."""
    return bool(tip(git, record_ref(topic))[0])


def restore(git: Git, topic: str, layout: Layout) -> State:
    """Bring a lost root back as its last stored commit has it; raises ToolError for another's.

    The journal comes last, so that a restoration that is interrupted begins again. What a person
    confirmed elsewhere is not confirmed here: trust is asked for anew.
    """
    ref = record_ref(topic)
    commit, message = tip(git, ref)
    found = _MARK.search(message)
    if found is None:
        raise ToolError(f"{ref} was not made by this tool", "look at it with `git log`")
    staged = layout.root / _RESTORING
    shutil.rmtree(staged, ignore_errors=True)
    for name, data in read(git, commit):
        inside = Path(name)
        if inside.is_absolute() or ".." in inside.parts:
            raise ToolError(f"{ref}: {name!r} is no document", "look at it with `git ls-tree -r`")
        if inside.parent == Path("state/journal"):
            write_whole(staged / inside.name, data)
        elif not (layout.root / inside).exists():
            write_whole(layout.root / inside, data)
    withdrawn = control("setup", "trusted", digest="", source=ref)
    Journal(staged, found[1]).append(withdrawn)
    staged.rename(layout.journal)
    rebuild(layout)
    return load_state(layout)


def stored_findings(git: Git, layout: Layout, state: State) -> Iterator[str]:
    """What is stored of a run that stands still is what its folder holds."""
    assert state.facts is not None
    ref = record_ref(state.facts.topic)
    commit, message = tip(git, ref)
    numbers = segment_numbers(layout.journal)
    found = _MARK.search(message)
    if not commit:
        if state.baseline is not None:
            yield f"{ref}: the record is not stored in the target; the next checkpoint stores it"
        return
    if found is None or found[1] != state.facts.run_id:
        yield f"{ref}: it holds the record of another run"
        return
    stored = listed(git, commit, "state/journal")
    for number in numbers:
        path = layout.segment(number)
        blob = stored.get(path.relative_to(layout.root).as_posix())
        if number < int(found[2]) and blob != blob_id(path.read_bytes(), len(commit)):
            yield f"{ref}: round {number} is not stored as the journal has it"
