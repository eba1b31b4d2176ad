"""Whatever tree is exported comes back as itself, and any edit comes back as what was done."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from selfimprove.vcs.index import tree_with
from selfimprove.vcs.quarantine import Quarantine
from selfimprove.vcs.trees import Edited, export, snapshot

from .gitrepo import collected

DATE = "2026-01-02T03:04:05Z"
PART = st.text(st.sampled_from("ab-: \n\t\"'\\*?[]#!~äß\u2603"), min_size=1, max_size=4).filter(
    lambda part: part not in (".", "..") and not part.endswith("~")
)
PATH = st.lists(PART, min_size=1, max_size=3).map("/".join)
NODE = st.tuples(st.sampled_from(["100644", "100755", "120000"]), st.binary(max_size=40))
TREE = st.dictionaries(PATH, NODE, max_size=8)
Tree = dict[str, tuple[str, bytes]]


def _possible(tree: Tree) -> Tree:
    """Without files in the place of folders, and with link texts that a system takes."""
    folders = {path.rsplit("/", n)[0] for path in tree for n in range(1, path.count("/") + 1)}
    return {
        path: (mode, data if mode != "120000" else b"to-" + data.replace(b"\0", b"0"))
        for path, (mode, data) in tree.items()
        if path not in folders
    }


def _lay(root: Path, tree: Tree) -> None:
    for path, (mode, data) in tree.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if mode == "120000":
            place.symlink_to(os.fsdecode(data))
        else:
            place.write_bytes(data)
            place.chmod(0o755 if mode == "100755" else 0o644)


def _commit(q: Quarantine, parent: str, tree: Tree) -> str:
    added = {path: (mode, q.store(data)) for path, (mode, data) in tree.items()}
    made = tree_with(q, parent, sorted(q.entries(parent)), added)
    return q.commit_tree(made, [parent], "x", DATE)


@settings(
    max_examples=12,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(TREE.map(_possible), TREE.map(_possible))
def test_export_edit_collect(quarantine: Quarantine, first: Tree, second: Tree) -> None:
    q = quarantine
    before_commit = _commit(q, q.target.head, first)
    after_commit = _commit(q, q.target.head, second)
    with tempfile.TemporaryDirectory(dir=q.path.parent) as folder:
        tree = Path(folder)
        export(q, before_commit, tree)
        before = snapshot(tree)
        same = collected(q, Edited(before_commit, tree, before)).commit
        assert q.tree_oid(same) == q.tree_oid(before_commit)
        for entry in tree.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
        _lay(tree, second)
        found = collected(q, Edited(before_commit, tree, before))
    assert found.odd == ()
    assert q.tree_oid(found.commit) == q.tree_oid(after_commit)
    assert q.entries(found.commit) == q.entries(after_commit)
    old, new = q.entries(before_commit), q.entries(after_commit)
    differing = {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)}
    assert {change.path for change in found.changes} == differing
