from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from selfimprove.errors import TargetError
from selfimprove.vcs import target as target_module
from selfimprove.vcs.state import user_state
from selfimprove.vcs.target import dirty_paths, open_target

from .gitrepo import commit, sh, write


def test_plain_repository(repo: Path) -> None:
    target = open_target(repo)
    assert target.top == repo.resolve()
    assert target.git_dir == target.common_dir == repo.resolve() / ".git"
    assert (target.prefix, target.branch, target.shallow) == ("", "main", False)
    assert target.head == sh(repo, "rev-parse", "HEAD")
    assert target.notes == ()


def test_subdirectory_detached_and_sparse_are_noted(repo: Path) -> None:
    sh(repo, "checkout", "-q", "--detach")
    sh(repo, "sparse-checkout", "set", "src")
    target = open_target(repo / "src")
    assert (target.prefix, target.branch) == ("src/", None)
    assert [note.split(":")[0] for note in target.notes] == [
        "detached HEAD",
        "sparse checkout",
        "sub-directory",
    ]


def test_linked_worktree(repo: Path, tmp_path: Path) -> None:
    sh(repo, "worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"))
    target = open_target(tmp_path / "linked")
    assert target.top == (tmp_path / "linked").resolve()
    assert target.common_dir == repo.resolve() / ".git"
    assert target.git_dir != target.common_dir
    assert target.branch == "side"


def test_shallow_clone(repo: Path, tmp_path: Path) -> None:
    commit(repo, {"a": "1"})
    sh(tmp_path, "clone", "-q", "--depth=1", f"file://{repo}", "short")
    assert open_target(tmp_path / "short").shallow


def _nothing(root: Path) -> Path:
    return root


def _bare(root: Path) -> Path:
    sh(root, "init", "-q", "--bare")
    return root


def _empty(root: Path) -> Path:
    sh(root, "init", "-q")
    return root


def _inside(root: Path) -> Path:
    sh(root, "init", "-q")
    return root / ".git"


def _partial(root: Path) -> Path:
    sh(root, "init", "-q")
    commit(root, {"a": "1"})
    sh(root, "config", "remote.origin.promisor", "true")
    return root


@pytest.mark.parametrize(
    ("make", "what", "remedy"),
    [
        (_nothing, "not in a git repository", "git -C .* init"),
        (_bare, "bare repository", "git clone"),
        (_empty, "no commit", "commit what"),
        (_inside, "inside a .git folder", "working tree"),
        (_partial, "partial clone", "without --filter"),
        (lambda root: root / "absent", "not a folder", "name a git repository"),
    ],
)
def test_unusable_targets_say_what_to_do(tmp_path: Path, make, what: str, remedy: str) -> None:
    root = tmp_path / "it"
    root.mkdir()
    place = make(root)
    with pytest.raises(TargetError, match=what) as raised:
        open_target(place)
    assert re.search(remedy, raised.value.remedy)


@pytest.mark.skipif(os.geteuid() != 0, reason="giving a folder to another user needs root")
def test_foreign_owner_is_refused_until_the_user_trusts_it(repo: Path) -> None:
    for path in [repo, *repo.rglob("*")]:
        os.chown(path, 65534, 65534, follow_symlinks=False)
    with pytest.raises(TargetError, match="another user") as raised:
        open_target(repo)
    assert "safe.directory" in raised.value.remedy
    sh(Path("/"), "config", "--global", "--add", "safe.directory", str(repo.resolve()))
    assert open_target(repo).branch == "main"


def test_old_git_is_refused(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target_module, "git_version", lambda: (2, 37, 9))
    with pytest.raises(TargetError, match=r"git 2\.37\.9 is too old"):
        open_target(repo)


def test_dirty_paths_name_odd_files_and_leave_the_index_alone(repo: Path) -> None:
    write(repo, {"src/app.py": "X = 3\n", "new\nline": "", "-dash": "", "noise.log": ""})
    write(repo, {"sub/ä.txt": ""})
    (repo / "src/util.py").unlink()
    os.utime(repo / "bench/run.sh")  # stat-dirty only: a refreshing status would write the index
    before = (repo / ".git/index").read_bytes(), (repo / ".git/index").stat().st_mtime_ns
    modified, untracked = dirty_paths(open_target(repo))
    assert modified == ["src/app.py", "src/util.py"]
    assert untracked == ["-dash", "new\nline", "sub/ä.txt"]
    assert before == ((repo / ".git/index").read_bytes(), (repo / ".git/index").stat().st_mtime_ns)


@pytest.mark.parametrize(
    ("touch", "what"),
    [
        (lambda repo: write(repo, {"src/app.py": "X = 9\n"}), ["tree"]),
        (lambda repo: (repo / "bench/run.sh").chmod(0o644), ["tree"]),
        (lambda repo: sh(repo, "branch", "side"), ["refs"]),
        (lambda repo: sh(repo, "config", "a.b", "c"), ["config"]),
        (lambda repo: write(repo, {".git/info/exclude": "*.tmp\n"}), ["excludes"]),
        (lambda repo: write(repo, {".git/hooks/pre-commit": "#!/bin/sh\n"}), ["hooks"]),
        (lambda repo: sh(repo, "checkout", "-q", "--detach"), ["head"]),
        (lambda repo: sh(repo, "update-index", "--assume-unchanged", "link"), ["index"]),
        (lambda repo: sh(repo, "branch", "improve/it"), []),
        (lambda repo: write(repo, {".selfimprove/default/x": "1"}), []),
    ],
)
def test_user_state_tells_what_was_touched(repo: Path, touch, what: list[str]) -> None:
    target = open_target(repo)
    before = user_state(target)
    assert user_state(target) == before
    touch(repo)
    assert before.differences(user_state(target)) == what
