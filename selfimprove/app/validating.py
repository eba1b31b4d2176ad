"""`validate`: the record against itself, and against the refs that the run made in its target."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from selfimprove.contracts.envelope import Envelope
from selfimprove.errors import TargetError
from selfimprove.names import RefNames, tag
from selfimprove.safekeeping import stored_findings
from selfimprove.store.archive import read_anchor
from selfimprove.store.layout import Layout
from selfimprove.store.migrating import is_old
from selfimprove.store.rebuild import findings, segments
from selfimprove.store.record import load_state
from selfimprove.store.state import State
from selfimprove.vcs.git import Git
from selfimprove.vcs.refs import read_refs
from selfimprove.vcs.target import open_target


def all_findings(root: Layout, repo: Path) -> list[str]:
    """Everything that is wrong: in the documents first, then with the refs of the target.

    The record of a run can be looked at apart from its target: then there are no refs to compare.
    """
    found = findings(root)
    if found and is_old(root):
        return [f"{root.root}: written by an earlier version: `validate --rebuild` migrates it"]
    if found:
        return found  # a record that is not sound cannot say which refs there should be
    state = load_state(root)
    try:
        git = open_target(repo).git
    except TargetError:
        return []
    if state.facts is None or git.attempt("cat-file", "-e", state.facts.base_commit).code != 0:
        return []
    return [*_branch(state, git), *_tags(root, state, git), *stored_findings(git, root, state)]


def _branch(state: State, git: Git) -> Iterator[str]:
    """The improvement branch stands where the record says."""
    assert state.facts is not None
    ref = state.facts.improve_ref
    there = read_refs(git, ref).get(ref)
    if there == state.published or _publishing(state):
        return
    if there is None:
        yield f"{ref}: the record says it is at {str(state.published)[:12]}, and it is not there"
    elif state.published is None:
        yield f"{ref}: it is at {there[:12]}, and the record knows of no published win"
    else:
        yield f"{ref}: the record says it is at {state.published[:12]}, it is at {there[:12]}"


def _publishing(state: State) -> bool:
    """A run that died while it published is no inconsistency: the next start looks."""
    return any(deed.tool == "git.publish" for deed in state.open_deeds.values())


def _tags(root: Layout, state: State, git: Git) -> Iterator[str]:
    """Every archive tag that the record tells of is there, and no other of this topic."""
    assert state.facts is not None
    anchor = read_anchor(root)
    first = anchor.round + 1 if anchor else 0
    told = {ref for lines in segments(root, first - 1) for ref in _archived(lines)}
    pattern = tag(RefNames(state.facts.topic, "").archive(0, "")).removesuffix("0_")
    there = {
        ref: oid for ref, oid in read_refs(git, f"{pattern}*").items() if ref.startswith(pattern)
    }
    for ref in sorted(told - there.keys()):
        yield f"{ref}: the record tells of it, and it is not there"
    if _publishing(state):
        return
    for ref in sorted(there.keys() - told):
        number = int(ref.removeprefix(pattern).partition("_")[0])
        if number >= first:
            yield f"{ref}: the record knows nothing of it"


def _archived(lines: list[Envelope]) -> Iterator[str]:
    for envelope in lines:
        payload = envelope.payload
        if envelope.type == "tool_result" and payload["tool"] == "git.publish":
            yield from payload["result"].get("tags", [])
