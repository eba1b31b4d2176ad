"""What of the user's repository is noticed to have changed, and what is nobody's business."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from selfimprove.vcs.target import open_target
from selfimprove.vcs.watch import Watch

from .gitrepo import commit, sh, write


@pytest.fixture
def watch(repo: Path) -> Watch:
    made = Watch(open_target(repo))
    made.begin()
    return made


def told(watch: Watch) -> list[str]:
    watch._tree_at = 0.0  # in a test the files are looked at each time
    return [str(each) for each in watch.differences()]


def hook(repo: Path) -> None:
    write(repo, {".git/hooks/post-commit": "#!/bin/sh\n"})


def config(repo: Path) -> None:
    sh(repo, "config", "core.fsmonitor", "/tmp/evil")


def stage(repo: Path) -> None:
    write(repo, {"src/app.py": "staged\n"})
    sh(repo, "add", "src/app.py")
    sh(repo, "restore", "src/app.py")


def flag(repo: Path) -> None:
    sh(repo, "update-index", "--assume-unchanged", "src/app.py")


def moved(repo: Path) -> None:
    sh(repo, "branch", "other")


def packed(repo: Path) -> None:
    sh(repo, "branch", "other")
    sh(repo, "pack-refs", "--all")


def stash(repo: Path) -> None:
    write(repo, {"src/app.py": "stashed\n"})
    sh(repo, "stash", "--quiet")


def exclude(repo: Path) -> None:
    write(repo, {".git/info/attributes": "* filter=evil\n"})


@pytest.mark.parametrize(
    ("act", "expected"),
    [
        (hook, ["hooks (hooks/post-commit)"]),
        (config, ["config"]),
        (flag, ["index"]),
        (moved, ["refs (refs/heads/other)"]),
        (packed, ["refs (refs/heads/other)"]),
        (stash, ["refs (refs/stash)"]),
        (exclude, ["excludes (info/attributes)"]),
        (lambda repo: write(repo, {"src/app.py": "x\n"}), ["status (src/app.py)"]),
        (lambda repo: write(repo, {"src/new.py": "x\n"}), ["status (src/new.py)"]),
        (lambda repo: (repo / "src/app.py").unlink(), ["status (src/app.py)"]),
        (lambda repo: sh(repo, "switch", "--quiet", "--detach"), ["HEAD"]),
    ],
)
def test_what_changes_is_named_once(
    repo: Path, watch: Watch, act: Callable[[Path], object], expected: list[str]
) -> None:
    assert told(watch) == []
    act(repo)
    assert told(watch) == expected
    assert told(watch) == []


def test_what_is_staged_alone_is_the_index(repo: Path, watch: Watch) -> None:
    stage(repo)
    assert told(watch)[0] == "index"


def test_what_runs_publish_and_git_looks_up_is_nothing(repo: Path, watch: Watch) -> None:
    sh(repo, "branch", "improve/goal")
    sh(repo, "tag", "archive/round_1_executor_1")
    sh(repo, "pack-refs", "--all")
    (repo / "src/app.py").touch()
    sh(repo, "status")  # writes what it saw into the index
    assert told(watch) == []


def test_a_change_to_what_was_changed_already_is_noticed(repo: Path, watch: Watch) -> None:
    write(repo, {"src/app.py": "once\n"})
    assert told(watch) == ["status (src/app.py)"]
    write(repo, {"src/app.py": "again\n"})
    assert told(watch) == ["status (src/app.py)"]


def test_many_names_are_cut_and_odd_ones_are_shown_plain(repo: Path, watch: Watch) -> None:
    write(repo, {f"src/{n:02}\x1b.py": "" for n in range(12)})
    (found,) = told(watch)
    assert "'src/00\\x1b.py'" in found
    assert found.endswith("4 more)")


def test_before_it_begins_nothing_is_known(repo: Path) -> None:
    assert Watch(open_target(repo)).differences() == []


def test_a_look_at_two_hundred_files_takes_no_time(repo: Path) -> None:
    commit(repo, {f"src/module_{n}.py": "x = 1\n" for n in range(200)})
    watch = Watch(open_target(repo))
    watch.begin()
    began = time.process_time()
    for _ in range(10):
        assert told(watch) == []
    assert (time.process_time() - began) / 10 < 0.02  # of a slow machine; 2 ms as a rule


def test_a_slow_tree_is_looked_at_less_often(
    repo: Path, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([100.0, 101.0, 150.0, 250.0, 250.5])
    monkeypatch.setattr("selfimprove.vcs.watch.time.monotonic", lambda: next(clock))
    watch._looked(next(clock))  # took a second: for a hundred it is let be
    os.utime(repo / "src/app.py", ns=(1, 1))
    write(repo, {"src/app.py": "x\n"})
    assert [str(each) for each in watch.differences()] == []
    assert [str(each) for each in watch.differences()] == ["status (src/app.py)"]
