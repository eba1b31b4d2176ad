"""Repositories of every shape: refused in one line, or improved to the end."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from selfimprove.testing import Repository, build_repository, goal_text
from selfimprove.vcs import git as git_module

from .conftest import BENCH, COMMAND, FILES, Machine, branches, git, later, tracked, untouched

IMPROVE = "refs/heads/improve/lower_the_score"


def nothing_left(repo: Path, machine: Machine) -> None:
    """A refusal leaves no folder behind, neither in the target nor among private trees."""
    assert not (repo / ".selfimprove").exists()
    assert not machine.trees.exists()


# refused before anything is written


def test_no_such_folder(machine: Machine, tmp_path: Path) -> None:
    machine.run(tmp_path / "absent").refused(3, "absent", "name a git repository")


def test_a_file_as_repo(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    machine.run(tmp_path / "file").refused(3, "file", "name a git repository")


def test_no_git_repository(machine: Machine, tmp_path: Path) -> None:
    place = tmp_path / "plain"
    place.mkdir()
    machine.run(place).refused(3, str(place), "not in a git repository", "init")
    assert list(place.iterdir()) == []


def test_bare(machine: Machine, target: Repository, tmp_path: Path) -> None:
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "-q", "--bare", str(target.path), str(bare))
    before = sorted(bare.rglob("*"))
    machine.run(bare).refused(3, str(bare), "bare repository", "git clone")
    assert sorted(bare.rglob("*")) == before


def test_without_commits(machine: Machine, tmp_path: Path) -> None:
    place = tmp_path / "young"
    place.mkdir()
    git(place, "init", "-q")
    (place / "goal.md").write_text(goal_text(COMMAND))
    machine.run(place).refused(3, str(place), "no commit", "commit what")
    nothing_left(place, machine)


def test_partial_clone(machine: Machine, target: Repository, tmp_path: Path) -> None:
    git(target.path, "config", "uploadpack.allowFilter", "true")
    place = tmp_path / "partial"
    url = target.path.as_uri()
    git(tmp_path, "clone", "-q", "--filter=blob:none", url, str(place))
    machine.run(place).refused(3, str(place), "partial clone", "without --filter")
    nothing_left(place, machine)


@pytest.mark.skipif(os.geteuid() != 0, reason="giving a folder to another user needs root")
def test_foreign_owner(machine: Machine, target: Repository) -> None:
    for path in [target.path, *target.path.rglob("*")]:
        os.chown(path, 65534, 65534, follow_symlinks=False)
    told = machine.run(target.path).refused(3, str(target.path), "belongs to another user")
    nothing_left(target.path, machine)
    command = told.partition("if you trust it: ")[2]
    git(target.path.parent, *shlex.split(command)[1:])
    machine.improved(target.path)  # the remedy is one


def test_git_too_old(
    machine: Machine, target: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "old" / "git"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho git version 2.30.2\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    git_module.git_version.cache_clear()
    try:
        machine.run(target.path).refused(3, "git 2.30", "too old", "2.38")
    finally:
        git_module.git_version.cache_clear()
    nothing_left(target.path, machine)


def test_no_git_at_all(
    machine: Machine, target: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    git_module.git_version.cache_clear()
    try:
        machine.run(target.path).refused(3, "git cannot be started", "install git 2.38")
    finally:
        git_module.git_version.cache_clear()
    nothing_left(target.path, machine)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (["branch", "improve"], "refs/heads/improve"),
        (["tag", "archive"], "refs/tags/archive"),
        (["branch", "improve/lower_the_score"], "refs/heads/improve/lower_the_score"),
        (["branch", "improve/lower_the_score/deeper"], "refs/heads/improve/lower_the_score/deeper"),
        (["tag", "archive/round_1_executor_1"], "refs/tags/archive/round_1_executor_1"),
    ],
)
def test_a_ref_in_the_way(machine: Machine, target: Repository, make, named: str) -> None:
    git(target.path, *make)
    refs = branches(target.path)
    with untouched(target.path):
        machine.run(target.path).refused(3, f"{named} ", "--topic")
    assert branches(target.path) == refs


@pytest.mark.long
def test_another_topic_is_a_way_round_a_branch_in_the_way(
    machine: Machine, target: Repository
) -> None:
    git(target.path, "branch", "improve/lower_the_score")
    machine.improved(target.path, "--topic", "two")
    assert "refs/heads/improve/two-lower_the_score" in branches(target.path)


def test_a_missing_submodule(machine: Machine, target: Repository, tmp_path: Path) -> None:
    _with_submodule(target, tmp_path)
    git(target.path, "submodule", "deinit", "-q", "-f", "lib")
    for path in sorted((target.path / ".git/modules").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    with untouched(target.path):
        machine.run(target.path).refused(
            3, "submodule 'lib'", "git -C", "submodule update --init --recursive"
        )


def test_a_missing_lfs_file(machine: Machine, target: Repository) -> None:
    _with_lfs(target, b"31")
    with untouched(target.path):
        machine.run(target.path).refused(3, "LFS", "'data/big.bin'", "lfs pull")


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_read_only_target(machine: Machine, target: Repository) -> None:
    mode = target.path.stat().st_mode
    target.path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        machine.run(target.path).refused(1, str(target.path), "--root")
    finally:
        target.path.chmod(mode)


def test_trees_inside_the_target(machine: Machine, target: Repository) -> None:
    inside = target.path / "trees"
    with untouched(target.path):
        machine.run(target.path, "--trees", inside).refused(3, str(inside), "outside")
    nothing_left(target.path, machine)


# works to the end


def test_detached_head(machine: Machine, target: Repository) -> None:
    git(target.path, "checkout", "-q", "--detach")
    assert "detached HEAD" in machine.improved(target.path).err
    assert IMPROVE in branches(target.path)


@pytest.mark.long
def test_shallow_clone(machine: Machine, target: Repository, tmp_path: Path) -> None:
    target.commit({"src/other.py": "SIZE = 8\n"})
    place = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth=1", target.path.as_uri(), str(place))
    assert "shallow clone" in machine.improved(place).err
    assert git(place, "fsck", "--no-dangling") == ""


@pytest.mark.long
def test_sparse_checkout(machine: Machine, target: Repository) -> None:
    target.commit({"docs/a.txt": "text\n"})
    git(target.path, "sparse-checkout", "set", "src")
    assert not (target.path / "docs").exists()
    assert "sparse checkout" in machine.improved(target.path).err
    assert tracked(target.path, IMPROVE, "docs/a.txt") == "text"


def test_linked_worktree(machine: Machine, target: Repository, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    git(target.path, "worktree", "add", "-q", "-b", "side", str(linked))
    with untouched(target.path):
        assert "linked worktree" in machine.improved(linked).err
    assert IMPROVE in branches(target.path)


def test_a_sub_directory_as_repo(machine: Machine, tmp_path: Path) -> None:
    files = {f"part/{name}": text for name, text in FILES.items()}
    files["part/goal.md"] = goal_text(COMMAND)
    whole = build_repository(tmp_path / "whole", files)
    os.environ["BAD_INPUT_TARGET"] = "part/src/conf.py"
    try:
        assert "sub-directory" in machine.improved(whole.path / "part").err
    finally:
        del os.environ["BAD_INPUT_TARGET"]
    assert tracked(whole.path, IMPROVE, "part/src/conf.py") == "LIMIT = 50"


@pytest.mark.long
def test_submodules_that_are_there(machine: Machine, target: Repository, tmp_path: Path) -> None:
    _with_submodule(target, tmp_path)
    machine.improved(target.path)
    assert git(target.path, "ls-tree", IMPROVE, "lib").startswith("160000 commit")


@pytest.mark.long
def test_lfs_files_that_are_there(machine: Machine, target: Repository) -> None:
    oid = _with_lfs(target, b"31")
    place = target.path / ".git/lfs/objects" / oid[:2] / oid[2:4] / oid
    place.parent.mkdir(parents=True)
    place.write_bytes(b"31")
    machine.improved(target.path)
    assert oid in tracked(target.path, IMPROVE, "data/big.bin")


@pytest.mark.long
def test_improve_checked_out_holds_a_win_back(machine: Machine, target: Repository) -> None:
    machine.improved(target.path)
    git(target.path, "checkout", "-q", "improve/lower_the_score")
    tip = git(target.path, "rev-parse", "HEAD")
    with untouched(target.path):
        answer = machine.run(target.path, "--max-iterations", 2).worked()
    assert git(target.path, "rev-parse", IMPROVE) == tip
    assert "improve/lower_the_score` is checked out" in answer.out
    assert "selfimprove resume" in answer.out
    status = machine.call("status", target.path, "--json").worked()
    assert json.loads(status.out)["held_back"] is True
    git(target.path, "checkout", "-q", "main")
    with untouched(target.path):
        machine.run(target.path, "--max-iterations", 3).worked()
    assert tracked(target.path, IMPROVE, "src/conf.py") == "LIMIT = 12"


@pytest.mark.parametrize(
    "name", [later("with  two spaces"), later("quote'\"$(touch x)"), "ünï-日本", later("-dash")]
)
def test_odd_paths(machine: Machine, tmp_path: Path, name: str) -> None:
    inner = "src/größe und maß.py"
    bench = BENCH.replace("src/conf.py", f"'{inner}'")
    files = {inner: "LIMIT = 100\n", "my bench.sh": bench, "ordner ä/x y.txt": "x\n"}
    folder = tmp_path / "in here"
    folder.mkdir()
    there = build_repository(folder / name, files, goal_text("sh 'my bench.sh'"))
    os.environ["BAD_INPUT_TARGET"] = inner
    try:
        machine.improved(there.path)
    finally:
        del os.environ["BAD_INPUT_TARGET"]
    assert tracked(there.path, IMPROVE, inner) == "LIMIT = 50"
    assert sorted(path.name for path in folder.iterdir()) == [name]


def test_no_home(machine: Machine, target: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME")
    machine.improved(target.path)


def _destroy(clone: Path) -> None:
    for path in (clone / "objects").rglob("*"):
        if path.is_file():
            path.unlink()


def _headless(clone: Path) -> None:
    (clone / "HEAD").unlink()


def _scrambled(clone: Path) -> None:
    (clone / "HEAD").write_text("\0\0\0")
    (clone / "config").write_text("[broken")


@pytest.mark.long
@pytest.mark.parametrize("damage", [_destroy, later(_headless), later(_scrambled)])
def test_a_damaged_private_clone_is_made_again(
    machine: Machine, target: Repository, damage: Callable[[Path], None]
) -> None:
    machine.improved(target.path)
    (clone,) = machine.trees.glob("*/quarantine.git")
    damage(clone)
    with untouched(target.path):
        machine.run(target.path, "--max-iterations", 2).worked()
    assert tracked(target.path, IMPROVE, "src/conf.py") == "LIMIT = 25"


@pytest.mark.long
def test_a_damaged_private_clone_gives_up_the_wins_it_held_back(
    machine: Machine, target: Repository
) -> None:
    machine.improved(target.path)
    git(target.path, "checkout", "-q", "improve/lower_the_score")
    machine.run(target.path, "--max-iterations", 2).worked()
    (clone,) = machine.trees.glob("*/quarantine.git")
    (clone / "refs/heads/broken").write_text("1" * 40 + "\n")
    git(target.path, "checkout", "-q", "main")
    assert "made anew" in machine.run(target.path, "--max-iterations", 3).worked().err
    assert tracked(target.path, IMPROVE, "src/conf.py") == "LIMIT = 12"


@pytest.mark.long
def test_other_trees_than_before(machine: Machine, target: Repository, tmp_path: Path) -> None:
    machine.improved(target.path)
    git(target.path, "checkout", "-q", "improve/lower_the_score")
    machine.run(target.path, "--max-iterations", 2).worked()
    git(target.path, "checkout", "-q", "main")
    other = ("--max-iterations", 3, "--trees", tmp_path / "others")
    told = machine.run(target.path, *other).refused(3, "neither there nor in", "--trees")
    assert str(target.path) in told
    machine.run(target.path, "--max-iterations", 3).worked()
    machine.run(target.path, "--max-iterations", 4, *other[2:]).worked()
    assert tracked(target.path, IMPROVE, "src/conf.py") == "LIMIT = 6"


def _with_submodule(target: Repository, tmp_path: Path) -> None:
    lib = build_repository(tmp_path / "lib", {"value.txt": "1\n"})
    git(target.path, "submodule", "--quiet", "add", str(lib.path), "lib")
    target.commit({"bench.sh": f"test -s lib/value.txt || exit 9\n{BENCH}"})


def _with_lfs(target: Repository, data: bytes) -> str:
    oid = hashlib.sha256(data).hexdigest()
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {len(data)}\n"
    target.commit(
        {
            ".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n",
            "data/big.bin": pointer,
            "bench.sh": f'test "$(cat data/big.bin)" = {data.decode()} || exit 9\n{BENCH}',
        }
    )
    return oid
