from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from selfimprove.errors import ToolError
from selfimprove.vcs.quarantine import MARKER, Entry, Quarantine
from selfimprove.vcs.refs import RefMoved
from selfimprove.vcs.target import Target, open_target

from .gitrepo import commit, sh, write

DATE = "2026-01-02T03:04:05Z"


def _child(q: Quarantine, parent: str, message: str = "x") -> str:
    return q.commit_tree(q.tree_oid(parent), [parent], message, DATE)


def test_holds_the_target_but_none_of_its_names(quarantine: Quarantine, target: Target) -> None:
    assert quarantine.resolve(target.head) == target.head
    assert list(quarantine.refs()) == [f"refs/target/{target.head}"]
    assert quarantine.git.attempt("config", "--get-regexp", "^remote").code == 1
    assert quarantine.resolve("HEAD") is None
    assert quarantine.resolve("--help") is None


def test_entries_keep_modes_and_odd_names(repo: Path, reopen) -> None:
    head = commit(repo, {"ä": "", "new\nline": "", "-dash": "", ":!x": "", 'q"t': "b"})
    q = reopen(repo)
    entries = q.entries(head)
    assert {"ä", "new\nline", "-dash", ":!x", 'q"t'} <= set(entries)
    assert entries["bench/run.sh"].mode == "100755"
    assert entries["link"].mode == "120000"
    assert entries["src/app.py"] == Entry(
        "100644", "blob", sh(repo, "rev-parse", "HEAD:src/app.py")
    )
    assert q.file(head, 'q"t') == b"b"
    assert q.file(head, "absent") is None
    wanted = [entries[name].oid for name in ("src/app.py", 'q"t', "src/app.py")]
    assert list(q.blobs(wanted).values()) == [b"X = 1\n", b"b"]


def test_refs_move_by_compare_and_swap(quarantine: Quarantine, target: Target) -> None:
    ref, first = "refs/heads/experiment/round_1_executor_1", _child(quarantine, target.head)
    second = _child(quarantine, first)
    quarantine.set_ref(ref, first, None)
    with pytest.raises(RefMoved):
        quarantine.set_ref(ref, second, None)
    with pytest.raises(RefMoved) as raised:
        quarantine.set_ref(ref, second, target.head)
    assert (raised.value.ref, raised.value.found) == (ref, first)
    quarantine.set_ref(ref, second, first)
    quarantine.set_ref(ref, second, first)  # tried again after a crash: already there
    with pytest.raises(RefMoved):
        quarantine.delete_ref(ref, first)
    quarantine.delete_ref(ref, second)
    quarantine.delete_ref(ref, second)
    assert ref not in quarantine.refs()


def test_the_same_commit_twice_has_one_id(quarantine: Quarantine, target: Target) -> None:
    first = _child(quarantine, target.head, "improve: ä\n\nbody\n")
    assert first == _child(quarantine, target.head, "improve: ä\n\nbody\n")
    text = quarantine.git.text("cat-file", "-p", first)
    assert "author selfimprove <selfimprove@localhost> 1767323045 +0000" in text
    assert quarantine.is_ancestor(target.head, first)
    assert not quarantine.is_ancestor(first, target.head)


def test_diff_is_raw_and_complete(repo: Path, reopen) -> None:
    old = sh(repo, "rev-parse", "HEAD")
    sh(repo, "config", "diff.evil.textconv", "touch textconv-ran; cat")
    new = commit(repo, {"src/app.py": "X = 2\n", "b.bin": b"\0\1", ".gitattributes": "* -diff\n"})
    q = reopen(repo)
    assert "-X = 1\n+X = 2\n" in q.diff(old, new)
    assert q.numstat(old, new)["src/app.py"] == (1, 1)
    assert q.numstat(old, new)["b.bin"] == (0, 0)
    sh(repo, "checkout", "-q", old)
    sh(repo, "apply", "--index", stdin=q.diff(old, new, binary=True).encode())
    assert sh(repo, "write-tree") == q.tree_oid(new)


def test_merge_without_a_working_tree(repo: Path, reopen) -> None:
    base = sh(repo, "rev-parse", "HEAD")
    ours = commit(repo, {"src/app.py": "X = 2\n"})
    sh(repo, "checkout", "-q", base)
    theirs = commit(repo, {"src/util.py": "Y = 3\n"})
    sh(repo, "checkout", "-q", base)
    clash = commit(repo, {"src/app.py": "X = 3\n"})
    q = reopen(repo)
    for oid in (ours, theirs):
        q.take(oid)
    tree = q.merge(ours, theirs)
    assert tree is not None
    assert q.merge(ours, clash) is None
    merged = q.commit_tree(tree, [ours, theirs], "both", DATE)
    assert (q.file(merged, "src/app.py"), q.file(merged, "src/util.py")) == (b"X = 2\n", b"Y = 3\n")


def test_reopened_it_keeps_work_and_takes_new_commits(repo: Path, reopen) -> None:
    q = reopen(repo)
    made = _child(q, open_target(repo).head)
    q.set_ref("refs/heads/improve/it", made, None)
    new = commit(repo, {"later": "1"})
    again = reopen(repo)
    assert again.resolve("refs/heads/improve/it") == made
    assert again.resolve(new) == new
    assert again.file(new, "later") == b"1"


def test_a_clone_that_was_killed_half_way_is_made_again(repo: Path, tmp_path: Path) -> None:
    target = open_target(repo)
    path = tmp_path / "cache/q.git"
    half = path.with_name(path.name + ".making-dead")
    write(half, {"objects/pack/tmp_pack": "x"})
    Quarantine.open(path, target)
    assert not half.exists()
    (path / MARKER).unlink()
    shutil.rmtree(path / "objects")
    (path / "objects").mkdir()
    assert Quarantine.open(path, target).resolve(target.head) == target.head


def test_locks_and_scratch_of_a_dead_run_are_cleared(repo: Path, tmp_path: Path) -> None:
    target = open_target(repo)
    path = tmp_path / "q.git"
    Quarantine.open(path, target)
    write(path, {"refs/heads/improve/it.lock": "", "packed-refs.lock": "", "scratch/tmp-1/i": ""})
    q = Quarantine.open(path, target)
    q.set_ref("refs/heads/improve/it", target.head, None)
    q.git.run("pack-refs", "--all")
    assert not any((path / "scratch").iterdir())


def test_a_folder_of_somebody_else_is_not_removed(repo: Path, tmp_path: Path) -> None:
    write(tmp_path, {"mine/letter.txt": "keep"})
    with pytest.raises(ToolError, match="in the way"):
        Quarantine.open(tmp_path / "mine", open_target(repo))
    assert (tmp_path / "mine/letter.txt").read_text() == "keep"


def _detached(repo: Path, tmp: Path) -> Path:
    commit(repo, {"only-here": "1"})
    sh(repo, "checkout", "-q", "--detach")
    commit(repo, {"only-detached": "1"})
    return repo


def _worktree_of_unborn(repo: Path, tmp: Path) -> Path:
    sh(repo, "worktree", "add", "-q", "-b", "side", str(tmp / "linked"))
    sh(repo, "checkout", "-q", "--orphan", "nothing-yet")
    commit(tmp / "linked", {"side": "1"})
    return tmp / "linked"


def _shallow(repo: Path, tmp: Path) -> Path:
    for number in range(3):
        commit(repo, {"n": str(number)})
    sh(tmp, "clone", "-q", "--depth=2", f"file://{repo}", "short")
    return tmp / "short"


def _alternates(repo: Path, tmp: Path) -> Path:
    sh(tmp, "clone", "-q", "--shared", str(repo), "borrower")
    commit(tmp / "borrower", {"own": "1"})
    return tmp / "borrower"


def _sparse(repo: Path, tmp: Path) -> Path:
    sh(repo, "sparse-checkout", "set", "bench")
    return repo


def _own_branch_names(repo: Path, tmp: Path) -> Path:
    sh(repo, "branch", "experiment")
    sh(repo, "tag", "archive")
    return repo


def _sha256(repo: Path, tmp: Path) -> Path:
    (tmp / "long").mkdir()
    sh(tmp / "long", "init", "-q", "--object-format=sha256")
    commit(tmp / "long", {"a": "1"})
    return tmp / "long"


@pytest.mark.parametrize(
    "make",
    [_detached, _worktree_of_unborn, _shallow, _alternates, _sparse, _own_branch_names, _sha256],
)
def test_unusual_targets_are_cloned_and_followed(
    repo: Path, tmp_path: Path, reopen: Callable[[Path], Quarantine], make
) -> None:
    root = make(repo, tmp_path)
    for _ in range(2):
        target = open_target(root)
        q = reopen(root)
        assert q.resolve(target.head) == target.head
        assert set(q.entries(target.head)) == set(
            sh(root, "ls-tree", "-r", "--name-only", "HEAD").splitlines()
        )
        assert not (q.path / "objects/info/alternates").exists()
        assert q.git.attempt("fsck", "--connectivity-only").code == 0
        tip = f"refs/heads/experiment/{target.head[:8]}"
        q.set_ref(tip, _child(q, target.head), None)
        commit(root, {"more": os.urandom(4).hex()})


def test_tidying_packs_refs_and_objects_and_loses_nothing(quarantine: Quarantine) -> None:
    head = quarantine.target.head
    refs = {f"refs/heads/experiment/{n}": _child(quarantine, head, f"{n}") for n in range(3)}
    for ref, made in refs.items():
        quarantine.set_ref(ref, made, None)
    quarantine.tidy()
    assert not list(quarantine.path.glob("objects/??/*"))
    assert not list(quarantine.path.glob("refs/heads/experiment/*"))
    assert quarantine.refs("refs/heads/experiment/") == refs
    assert all(quarantine.resolve(made) == made for made in refs.values())
    assert Quarantine.open(quarantine.path, quarantine.target).notes == ()
