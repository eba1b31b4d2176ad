from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from selfimprove.errors import ToolError
from selfimprove.vcs.publish import RefMoved, RefUpdate, blocked_names, checked_out, publish
from selfimprove.vcs.quarantine import Quarantine
from selfimprove.vcs.state import user_state
from selfimprove.vcs.target import Target, dirty_paths, open_target
from selfimprove.vcs.trees import Edited, agent_clone, export, snapshot

from .gitrepo import collected, commit, sh, write

DATE = "2026-01-02T03:04:05Z"
BRANCH = "refs/heads/improve/it"
ZEROS = "0" * 40


def merge_of(q: Quarantine, parent: str, content: str = "X = 2\n") -> str:
    """A candidate as the loop makes it: edited in an agent's tree, committed in the quarantine."""
    with q.scratch() as folder:
        tree = Path(folder, "tree")
        agent_clone(q, parent, "improve/it", tree)
        before = snapshot(tree)
        write(tree, {"src/app.py": content})
        return collected(q, Edited(parent, tree, before)).commit


def everything(root: Path) -> dict[str, tuple[bytes, int, int]]:
    """Bytes, mode and mtime of every file of a repository, but objects and what is published."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if name.startswith((".git/objects", ".git/refs/heads/improve", ".git/refs/tags/archive")):
            continue
        stat = path.lstat()
        if path.is_dir() and not path.is_symlink():
            # A folder's time may change for a lock file that came and went; its content may not.
            found[name] = (b"", stat.st_mode, 0)
        else:
            content = str(path.readlink()).encode() if path.is_symlink() else path.read_bytes()
            found[name] = (content, stat.st_mode, stat.st_mtime_ns)
    return found


def test_refs_and_objects_arrive_together(quarantine: Quarantine, target: Target) -> None:
    win = merge_of(quarantine, target.head)
    lost = merge_of(quarantine, target.head, "X = 0\n")
    tag = "refs/tags/archive/round_1_executor_2"
    publish(target, quarantine, [RefUpdate(BRANCH, win, ZEROS), RefUpdate(tag, lost, ZEROS)])
    assert sh(target.top, "show", "improve/it:src/app.py") == "X = 2"
    assert sh(target.top, "show", "archive/round_1_executor_2:src/app.py") == "X = 0"
    sh(target.top, "fsck", "--strict")
    publish(target, quarantine, [RefUpdate(BRANCH, win, ZEROS)])  # again, after a crash
    publish(target, quarantine, [RefUpdate(tag, ZEROS, lost)])
    assert sh(target.top, "tag") == ""


def test_a_moved_branch_stops_all(quarantine: Quarantine, target: Target) -> None:
    first = merge_of(quarantine, target.head)
    publish(target, quarantine, [RefUpdate(BRANCH, first, ZEROS)])
    sh(target.top, "update-ref", BRANCH, target.head)  # the user moves it
    second = merge_of(quarantine, first, "X = 3\n")
    tag = "refs/tags/archive/round_1_executor_1"
    with pytest.raises(RefMoved) as raised:
        publish(
            target, quarantine, [RefUpdate(tag, second, ZEROS), RefUpdate(BRANCH, second, first)]
        )
    assert (raised.value.ref, raised.value.found) == (BRANCH, target.head)
    assert "--adopt" in raised.value.remedy
    assert sh(target.top, "tag") == ""
    sh(target.top, "update-ref", "-d", BRANCH)
    with pytest.raises(RefMoved, match="absent"):
        publish(target, quarantine, [RefUpdate(BRANCH, second, first)])


def test_a_left_lock_is_a_tool_error(quarantine: Quarantine, target: Target) -> None:
    win = merge_of(quarantine, target.head)
    write(target.top, {".git/refs/heads/improve/it.lock": ""})
    with pytest.raises(ToolError, match=r"it\.lock"):
        publish(target, quarantine, [RefUpdate(BRANCH, win, ZEROS)])


def test_nothing_of_the_users_is_touched(repo: Path, tmp_path: Path, reopen) -> None:
    commit(repo, {"deleted.txt": "1"})
    write(repo, {"src/util.py": "stashed\n"})
    sh(repo, "stash")
    write(repo, {"src/app.py": "X = 'work in progress'\n", "untracked.txt": "mine"})
    sh(repo, "add", "src/app.py")
    write(repo, {"src/app.py": "X = 'more'\n", ".git/info/exclude": "*.tmp\n"})
    (repo / "deleted.txt").unlink()
    sh(repo, "config", "core.logAllRefUpdates", "always")
    sh(repo, "config", "gc.auto", "1")
    sh(repo, "config", "fetch.writeCommitGraph", "true")
    sh(repo, "config", "fetch.prune", "true")
    proof = tmp_path / "hook-ran"
    for name in ("reference-transaction", "post-checkout", "pre-auto-gc", "post-index-change"):
        write(repo, {f".git/hooks/{name}": f"#!/bin/sh\ntouch {proof}\n"})
        (repo / ".git/hooks" / name).chmod(0o755)
    proof.unlink(missing_ok=True)
    before = everything(repo)

    q = reopen(repo)
    target = open_target(repo)
    state = user_state(target)
    dirty_paths(target)
    win = merge_of(q, target.head)
    export(q, win, tmp_path / "measured")
    publish(target, q, [RefUpdate(BRANCH, win, ZEROS)])
    second = merge_of(q, win, "X = 3\n")
    archive = RefUpdate("refs/tags/archive/round_1_executor_1", second, ZEROS)
    publish(target, q, [RefUpdate(BRANCH, second, win), archive])

    assert everything(repo) == before
    assert state.differences(user_state(target)) == []
    assert not proof.exists()
    assert sh(repo, "rev-parse", "improve/it") == second
    leftovers = list((repo / ".git/objects").rglob("tmp_*"))
    assert leftovers == []


def _linked(repo: Path, tmp: Path) -> Path:
    sh(repo, "worktree", "add", "-q", "-b", "side", str(tmp / "linked"))
    return tmp / "linked"


def _shallow(repo: Path, tmp: Path) -> Path:
    for number in range(3):
        commit(repo, {"n": str(number)})
    sh(tmp, "clone", "-q", "--depth=2", f"file://{repo}", "short")
    return tmp / "short"


def _shallow_then_whole(repo: Path, tmp: Path) -> Path:
    return _shallow(repo, tmp)


def _detached(repo: Path, tmp: Path) -> Path:
    sh(repo, "checkout", "-q", "--detach")
    return repo


def _alternates(repo: Path, tmp: Path) -> Path:
    sh(tmp, "clone", "-q", "--shared", str(repo), "borrower")
    return tmp / "borrower"


@pytest.mark.parametrize("make", [_linked, _shallow, _shallow_then_whole, _detached, _alternates])
def test_publishing_into_unusual_targets(repo: Path, tmp_path: Path, reopen, make) -> None:
    root = make(repo, tmp_path)
    q = reopen(root)
    target = open_target(root)
    if make is _shallow_then_whole:
        sh(root, "fetch", "-q", "--unshallow")
    else:
        before = everything(root)
    win = merge_of(q, target.head)
    publish(target, q, [RefUpdate(BRANCH, win, ZEROS)])
    assert sh(root, "show", "improve/it:src/app.py") == "X = 2"
    sh(root, "fsck", "--connectivity-only")
    if make is not _shallow_then_whole:
        assert everything(root) == before


def test_a_checked_out_branch_is_held_back(quarantine, target: Target, tmp_path: Path) -> None:
    top, win = target.top, merge_of(quarantine, target.head)
    assert checked_out(target, BRANCH) is None
    publish(target, quarantine, [RefUpdate(BRANCH, win, ZEROS)])
    linked = tmp_path / "look"
    sh(top, "worktree", "add", "-q", str(linked), "improve/it")
    assert checked_out(target, BRANCH) == linked
    second = merge_of(quarantine, win, "X = 3\n")
    with pytest.raises(ToolError, match="checked out in"):
        publish(target, quarantine, [RefUpdate(BRANCH, second, win)])
    assert sh(top, "rev-parse", BRANCH) == win
    shutil.rmtree(linked)  # removed by hand, not pruned
    assert checked_out(target, BRANCH) is None
    publish(target, quarantine, [RefUpdate(BRANCH, second, win)])


def test_a_branch_in_the_middle_of_a_rebase_or_bisect_counts(
    quarantine: Quarantine, target: Target
) -> None:
    top = target.top
    win = merge_of(quarantine, target.head)
    publish(target, quarantine, [RefUpdate(BRANCH, win, ZEROS)])
    clash = commit(top, {"src/app.py": "X = 'other'\n"})
    sh(top, "checkout", "-q", "improve/it")
    assert checked_out(target, BRANCH) == top
    with pytest.raises(AssertionError):
        sh(top, "rebase", clash)
    assert sh(top, "rev-parse", "--abbrev-ref", "HEAD") == "HEAD"
    assert checked_out(target, BRANCH) == top
    sh(top, "rebase", "--abort")
    sh(top, "bisect", "start", "improve/it", target.head)
    sh(top, "checkout", "-q", "--detach")
    assert checked_out(target, BRANCH) == top


def test_names_in_the_way_are_found(repo: Path) -> None:
    sh(repo, "branch", "improve")
    sh(repo, "tag", "archive")
    sh(repo, "branch", "other/improve")
    target = open_target(repo)
    found = blocked_names(target, [BRANCH, "refs/tags/archive/round_1_executor_1"])
    assert found == ["refs/heads/improve", "refs/tags/archive"]
    sh(repo, "branch", "-D", "improve")
    sh(repo, "branch", "improve/it/deeper")
    assert blocked_names(target, [BRANCH]) == ["refs/heads/improve/it/deeper"]
