"""Executors' trees: what is collected from a layer is what would be collected from a copy."""

from __future__ import annotations

from pathlib import Path

import pytest
from room_machine import Machine, contained_only
from vcs.gitrepo import collected

from selfimprove.room.agent_trees import AgentTrees, Wanted
from selfimprove.room.job import Job
from selfimprove.testing import Repository, build_repository
from selfimprove.vcs.changes import Collected
from selfimprove.vcs.export import Overlay
from selfimprove.vcs.quarantine import Quarantine
from selfimprove.vcs.target import open_target
from selfimprove.vcs.trees import Edited

FILES = {
    ".gitignore": "*.log\n",
    "a.txt": "a\n",
    "b.txt": "b\n",
    "keep/one.txt": "1\n",
    "keep/two.txt": "2\n",
    "deep/er/est.txt": "x\n",
    "deep/other.txt": "y\n",
}
EDITS = {
    "nothing": "true",
    "a file": "echo new > a.txt",
    "the same again": "cp a.txt c && cat c > a.txt && rm c && touch b.txt",
    "added": "mkdir -p new/folder && echo 1 > new/folder/file && echo 2 > some.log",
    "deleted": "rm a.txt keep/one.txt",
    "a folder deleted": "rm -r keep",
    "a folder made anew": "rm -r keep && mkdir keep && echo 3 > keep/three.txt",
    "a file anew": "rm a.txt && echo other > a.txt",
    "a folder for a file": "rm a.txt && mkdir a.txt && echo 1 > a.txt/inside",
    "a file for a folder": "rm -r deep && echo 1 > deep",
    "a link for a folder": "rm -r deep && ln -s keep deep",
    "renamed": "mv a.txt z.txt && mv deep/er deep/est",
    "a mode": "chmod +x a.txt",
    "emptied": "rm -r a.txt b.txt keep deep .gitignore",
    "committed": "git add -A && echo 1 > a.txt && git -c user.name=a commit -qam x && rm b.txt",
    "repository gone": "rm -rf .git && echo 1 > a.txt",
    "a repository inside": "mkdir -p keep/.git && echo 1 > keep/.git/HEAD",
}


@pytest.fixture
def repository(machine: Machine) -> Repository:
    (machine.target / ".git").rmdir()
    (machine.target / "who").unlink()
    return build_repository(machine.target, FILES)


def trees_at(machine: Machine, repository: Repository, mode: str, **more: object) -> AgentTrees:
    quarantine = Quarantine.open(machine.base / "cache" / "q.git", open_target(repository.path))
    folder = machine.base / "cache" / f"trees-{mode}"
    room = machine.room(mode, **more)
    return AgentTrees(quarantine, room, folder, "improve/it", lambda at: Overlay(at))


def edited(trees: AgentTrees, commit: str, script: str) -> Collected:
    with trees.editing(Wanted(commit, git=True, in_room=True)) as mine:
        job = Job(script, mine.layers or mine.tree, "agent", 30)
        outcome = trees._room.run(job)
        assert outcome.exit_code == 0, outcome.stderr
        layered = mine.layers is not None
        assert layered == trees._room.probe.overlay
        return collected(trees._quarantine, Edited(commit, mine.edited, mine.before, layered))


@contained_only
@pytest.mark.parametrize("name", EDITS)
def test_a_layer_tells_what_a_copy_tells(
    machine: Machine, repository: Repository, name: str
) -> None:
    head = repository.head
    in_layer = edited(trees_at(machine, repository, "auto"), head, EDITS[name])
    in_copy = edited(trees_at(machine, repository, "off"), head, EDITS[name])
    assert in_layer == in_copy
    quarantine = trees_at(machine, repository, "off")._quarantine
    same = quarantine.tree_oid(in_layer.commit) == quarantine.tree_oid(head)
    assert same == (not in_layer.changes)


@contained_only
def test_executors_of_one_commit_share_what_lies_below_and_nothing_else(
    machine: Machine, repository: Repository
) -> None:
    trees, head = trees_at(machine, repository, "auto"), repository.head
    wanted = Wanted(head, git=True, in_room=True)
    with trees.editing(wanted) as one, trees.editing(wanted) as two:
        assert one.tree == two.tree
        assert one.layers is not None
        assert two.layers is not None
        trees._room.run(Job("echo mine > a.txt", one.layers, "agent", 30))
        seen = trees._room.run(Job("cat a.txt; git status --short", two.layers, "agent", 30))
        assert seen.stdout == b"a\n"
        assert (one.tree / "a.txt").read_text() == "a\n"
    trees.tidy([head])
    assert sorted(path.name[:5] for path in one.tree.parent.iterdir()) == ["readi", "repos"]
    trees.tidy([])  # the reading tree stays: the next one links from it
    assert [path.name[:5] for path in one.tree.parent.iterdir()] == ["readi"]


@contained_only
def test_the_next_tree_links_what_is_equal(machine: Machine, repository: Repository) -> None:
    head = repository.head
    later = repository.commit({"a.txt": "later\n"})
    trees = trees_at(machine, repository, "auto")
    first, second = trees.reading(head), trees.reading(later)
    assert (first / "b.txt").stat().st_ino == (second / "b.txt").stat().st_ino
    assert (first / "a.txt").read_text() == "a\n"
    assert (second / "a.txt").read_text() == "later\n"


def test_an_agent_of_this_process_gets_files_of_its_own(
    machine: Machine, repository: Repository
) -> None:
    trees, head = trees_at(machine, repository, "auto"), repository.head
    shared = trees.reading(head)
    with trees.editing(Wanted(head, git=False, in_room=False)) as mine:
        assert mine.layers is None
        (mine.edited / "a.txt").write_text("mine\n")
        assert not (mine.tree / ".git").exists()
    assert (shared / "a.txt").read_text() == "a\n"
    assert not mine.tree.exists()


@contained_only
def test_an_agent_s_own_program_in_the_target_is_shown_over_layers(
    machine: Machine, repository: Repository, tmp_path: Path
) -> None:
    repository.write({"tools/agent.sh": "echo untracked\n"})
    trees, head = trees_at(machine, repository, "auto"), repository.head
    with trees.editing(Wanted(head, git=True, in_room=True)) as mine:
        outcome = trees._room.run(Job("sh tools/agent.sh", mine.layers or tmp_path, "agent", 30))
        made = collected(trees._quarantine, Edited(head, mine.edited, mine.before, layer=True))
    assert outcome.stdout == b"untracked\n"
    assert made.changes == ()
