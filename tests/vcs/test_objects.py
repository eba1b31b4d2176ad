from __future__ import annotations

from pathlib import Path

import pytest

from selfimprove.errors import ToolError
from selfimprove.vcs.git import Git
from selfimprove.vcs.objects import Objects, begun, ended, whole

from .gitrepo import sh


@pytest.fixture
def git(repo: Path) -> Git:
    return Git(repo / ".git")


def store(git: Git, data: bytes) -> str:
    return git.run("hash-object", "-w", "--stdin", stdin=data).decode().strip()


def test_one_process_answers_all_questions(git: Git, repo: Path) -> None:
    objects = Objects(git)
    head, tree = sh(repo, "rev-parse", "HEAD"), sh(repo, "rev-parse", "HEAD^{tree}")
    a, b = store(git, b"a\n\0\r\n"), store(git, b"")
    commit, top, lost, blob = objects.facts([head, f"{head}^{{tree}}", "0" * 40, a])
    asked = objects._process.pid
    assert commit is not None
    assert commit.kind == "commit"
    assert top is not None
    assert (top.oid, top.kind) == (tree, "tree")
    assert lost is None
    assert blob is not None
    assert blob.size == 5
    with objects.contents([a, b, a]) as out:
        assert [whole(out, oid) for oid in (a, b, a)] == [b"a\n\0\r\n", b"", b"a\n\0\r\n"]
    assert objects._process.pid == asked


def test_what_is_stored_later_is_found(git: Git) -> None:
    objects = Objects(git)
    assert objects.facts(["1" * 40]) == [None]
    later = store(git, b"later")
    assert [found and found.size for found in objects.facts([later])] == [5]


def test_more_questions_than_a_pipe_holds(git: Git) -> None:
    oids = [store(git, b"x" * 3000)] * 3000
    objects = Objects(git)
    assert [found and found.size for found in objects.facts(oids)] == [3000] * 3000
    with objects.contents(oids) as out:
        assert {whole(out, oid) for oid in oids} == {b"x" * 3000}


def test_a_missing_object_is_named_and_the_next_question_answered(git: Git) -> None:
    objects = Objects(git)
    there = store(git, b"there")
    with (
        pytest.raises(ToolError, match=f"object {'2' * 40} is missing"),
        objects.contents(["2" * 40, there]) as out,
    ):
        whole(out, "2" * 40)
    with objects.contents([there]) as out:
        assert begun(out, there) == 5
        assert out.read(6) == b"there\n"


def test_a_git_that_died_is_started_again(git: Git) -> None:
    objects = Objects(git)
    there = store(git, b"there")
    objects.facts([there])
    objects._process.kill()
    objects._process.proc.wait()  # AutoInterrupt.wait would raise
    assert [found and found.size for found in objects.facts([there])] == [5]


def test_a_name_of_another_kind_is_not_there_however_often_it_is_asked(
    git: Git, repo: Path
) -> None:
    objects = Objects(git)
    blob = store(git, b"no commit")
    for _ in range(12):
        assert objects.facts([f"{blob}^{{commit}}"] * 200) == [None] * 200


def test_none_is_left_behind(git: Git) -> None:
    there = store(git, b"there")
    objects = Objects(git)
    with ended():
        objects.facts([there])
    assert objects._process.poll() is not None
    assert [found and found.size for found in objects.facts([there])] == [5]
