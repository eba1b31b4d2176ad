from __future__ import annotations

import hashlib
import os
import shutil
import socket
from pathlib import Path

import pytest

from selfimprove.errors import TargetError
from selfimprove.vcs.quarantine import Quarantine
from selfimprove.vcs.target import Target
from selfimprove.vcs.trees import (
    Edited,
    Frozen,
    Overlay,
    agent_clone,
    export,
    snapshot,
    take_uncommitted,
)

from .gitrepo import collected, commit, sh, write

DATE = "2026-01-02T03:04:05Z"


def files(root: Path) -> dict[str, bytes | str]:
    """Contents of every file below a folder; symlinks as `-> target`."""
    found: dict[str, bytes | str] = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if name.split("/")[0] == ".git":
            continue
        if path.is_symlink():
            found[name] = f"-> {os.readlink(path)}"
        elif path.is_file():
            found[name] = path.read_bytes()
    return found


# --- export ---


def test_export_writes_what_git_holds(quarantine: Quarantine, target: Target, tmp_path) -> None:
    export(quarantine, target.head, tmp_path / "out")
    assert files(tmp_path / "out") == files(target.top)
    assert os.access(tmp_path / "out/bench/run.sh", os.X_OK)
    assert not os.access(tmp_path / "out/src/app.py", os.X_OK)
    assert not (tmp_path / "out/.git").exists()


def test_export_applies_no_attribute_and_no_filter(repo: Path, reopen, tmp_path: Path) -> None:
    sh(repo, "config", "filter.evil.smudge", "sed s/1/666/")
    sh(repo, "config", "core.autocrlf", "true")
    raw = {"a.txt": "1\n2\n", "crlf": b"1\r\n", "keyword": "$Id$ $Format:%H$\n"}
    head = commit(repo, raw)
    attributes = "*.txt filter=evil eol=crlf\nkeyword ident export-subst\n"
    head = commit(repo, {".gitattributes": attributes})
    write(repo, {".git/info/attributes": "* filter=evil\n"})
    q = reopen(repo)
    export(q, head, tmp_path / "out")
    assert (tmp_path / "out/a.txt").read_bytes() == b"1\n2\n"
    assert (tmp_path / "out/keyword").read_bytes() == b"$Id$ $Format:%H$\n"


def test_overlay_lays_sealed_paths_over_a_candidate(repo: Path, reopen, tmp_path: Path) -> None:
    base = commit(repo, {"tests/data.json": "1", "secret.txt": "s"})
    shutil.rmtree(repo / "bench")
    (repo / "tests/data.json").unlink()
    (repo / "bench").symlink_to("/etc")  # in the place of a folder with sealed files
    candidate = commit(
        repo, {"src/app.py": "X = 2\n", "conftest.py": "evil", "tests/data.json/x": "evil"}
    )
    q = reopen(repo)
    overlay = Overlay(
        base,
        paths=frozenset({"bench/run.sh", "tests/data.json", "conftest.py"}),
        extra_files={"goal.md": b"# goal", "tools/score.sh": b"#!/bin/sh\n"},
        executables=frozenset({"tools/score.sh"}),
        hidden=frozenset({"secret.txt"}),
    )
    export(q, candidate, tmp_path / "out", overlay)
    made = files(tmp_path / "out")
    assert made["bench/run.sh"] == b"#!/bin/sh\necho 1\n"
    assert made["tests/data.json"] == b"1"
    assert made["src/app.py"] == b"X = 2\n"
    assert made["goal.md"] == b"# goal"
    assert os.access(tmp_path / "out/tools/score.sh", os.X_OK)
    assert {"conftest.py", "secret.txt", "tests/data.json/x"}.isdisjoint(made)


def test_equal_files_are_linked_from_a_frozen_tree(repo: Path, reopen, tmp_path: Path) -> None:
    base = sh(repo, "rev-parse", "HEAD")
    (repo / "src/util.py").chmod(0o755)  # the same bytes, another mode
    changed = commit(repo, {"src/app.py": "X = 2\n", "new/file": "n", "goal.md": "# theirs"})
    q = reopen(repo)
    overlay = Overlay(base, frozenset({"bench/run.sh"}), extra_files={"goal.md": b"# g"})
    export(q, base, tmp_path / "frozen", overlay)
    export(q, changed, tmp_path / "out", overlay, like=Frozen(base, tmp_path / "frozen"))
    export(q, changed, tmp_path / "written", overlay)
    assert files(tmp_path / "out") == files(tmp_path / "written")
    assert os.access(tmp_path / "out/src/util.py", os.X_OK)
    shared = {
        name
        for name in files(tmp_path / "out")
        if (tmp_path / "frozen" / name).exists()
        and os.path.samestat(
            (tmp_path / "frozen" / name).lstat(), (tmp_path / "out" / name).lstat()
        )
    }
    assert shared == {".gitignore", "bench/run.sh"}
    shutil.rmtree(tmp_path / "frozen/bench")  # gone meanwhile: written instead
    export(q, changed, tmp_path / "again", overlay, like=Frozen(base, tmp_path / "frozen"))
    assert files(tmp_path / "again") == files(tmp_path / "written")


def test_uncommitted_files_are_taken_as_they_stand(repo: Path) -> None:
    write(repo, {"score.sh": "#!/bin/sh\n", "goal.md": "# g"})
    (repo / "score.sh").chmod(0o755)
    contents, executables = take_uncommitted(repo, ["score.sh", "goal.md", "absent"])
    assert contents == {"score.sh": b"#!/bin/sh\n", "goal.md": b"# g"}
    assert executables == {"score.sh"}


def test_a_file_that_pretends_to_be_git_is_refused(repo: Path, reopen, tmp_path: Path) -> None:
    blob = sh(repo, "hash-object", "-w", "--stdin", stdin=b"evil")
    inner = sh(repo, "mktree", stdin=f"100644 blob {blob}\tconfig\n".encode())
    tree = sh(repo, "mktree", stdin=f"040000 tree {inner}\t.git\n".encode())
    head = sh(repo, "commit-tree", tree, "-m", "evil")
    q = reopen(repo)
    q.take(head)
    with pytest.raises(TargetError, match=r"\.git/config"):
        export(q, head, tmp_path / "out")


# --- submodules and LFS ---


@pytest.fixture
def with_submodule(repo: Path, tmp_path: Path) -> Path:
    for name in ("inner", "middle"):
        (tmp_path / name).mkdir()
        sh(tmp_path / name, "init", "-q")
        commit(tmp_path / name, {f"{name}.txt": name})
    sh(tmp_path / "middle", "submodule", "add", "-q", str(tmp_path / "inner"), "deep/in ner")
    commit(tmp_path / "middle", {})
    sh(repo, "submodule", "add", "-q", "--name", "vendored", str(tmp_path / "middle"), "lib/mid")
    sh(repo, "submodule", "update", "-q", "--init", "--recursive")
    commit(repo, {})
    return repo


def test_submodules_are_filled_from_local_objects(
    with_submodule: Path, reopen, tmp_path: Path
) -> None:
    q = reopen(with_submodule)
    export(q, q.target.head, tmp_path / "out")
    made = files(tmp_path / "out")
    assert made["lib/mid/middle.txt"] == b"middle"
    assert made["lib/mid/deep/in ner/inner.txt"] == b"inner"
    assert not list((tmp_path / "out").rglob(".git"))
    sh(with_submodule, "submodule", "deinit", "-q", "-f", "--all")  # its objects stay
    export(q, q.target.head, tmp_path / "again")
    assert files(tmp_path / "again") == made


def test_a_missing_submodule_names_the_command(
    with_submodule: Path, reopen, tmp_path: Path
) -> None:
    sh(tmp_path, "-c", "protocol.file.allow=always", "clone", "-q", str(with_submodule), "fresh")
    q = reopen(tmp_path / "fresh")
    with pytest.raises(TargetError, match="lib/mid") as raised:
        export(q, q.target.head, tmp_path / "out")
    assert "submodule update --init --recursive" in raised.value.remedy


def test_edits_inside_a_submodule_are_odd(with_submodule: Path, reopen, tmp_path: Path) -> None:
    q = reopen(with_submodule)
    tree = tmp_path / "out"
    export(q, q.target.head, tree)
    before = snapshot(tree)
    write(tree, {"lib/mid/middle.txt": "edited", "lib/mid/__pycache__/a.pyc": "x"})
    found = collected(q, Edited(q.target.head, tree, before))
    assert (q.tree_oid(found.commit), found.changes) == (q.tree_oid(q.target.head), ())
    assert [it.path for it in found.odd] == ["lib/mid/middle.txt"]


def _lfs(repo: Path, content: bytes) -> str:
    oid = hashlib.sha256(content).hexdigest()
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {len(content)}\n"
    commit(
        repo,
        {
            ".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n",
            "data/w.bin": pointer,
            "docs/example.txt": pointer,  # looks like one, and is given to nobody
        },
    )
    return oid


def test_lfs_pointers_are_filled(repo: Path, reopen, tmp_path: Path) -> None:
    oid = _lfs(repo, b"weights")
    q = reopen(repo)
    with pytest.raises(TargetError, match=r"data/w\.bin") as raised:
        export(q, q.target.head, tmp_path / "fails")
    assert "lfs pull" in raised.value.remedy
    write(repo, {f".git/lfs/objects/{oid[:2]}/{oid[2:4]}/{oid}": b"weights"})
    tree = tmp_path / "out"
    export(q, q.target.head, tree)
    assert (tree / "data/w.bin").read_bytes() == b"weights"
    assert (tree / "docs/example.txt").read_bytes().startswith(b"version https://git-lfs")
    before = snapshot(tree)
    assert collected(q, Edited(q.target.head, tree, before)).changes == ()
    (tree / "data/w.bin").write_bytes(b"other")
    assert [it.path for it in collected(q, Edited(q.target.head, tree, before)).odd] == [
        "data/w.bin"
    ]


# --- agent_clone ---


def test_agent_clone_is_a_repository_of_its_own(repo: Path, reopen, tmp_path: Path) -> None:
    sh(repo, "tag", "v1")
    for number in range(3):
        commit(repo, {"n.txt": str(number)}, f"step {number}")
    q = reopen(repo)
    rival = q.commit_tree(q.tree_oid(q.target.head), [q.target.head], "rival's idea", DATE)
    q.set_ref("refs/heads/experiment/round_1_executor_2", rival, None)
    tree = tmp_path / "agent"
    agent_clone(q, q.target.head, "improve/it", tree)
    assert sh(tree, "status", "--porcelain") == ""
    assert sh(tree, "for-each-ref", "--format=%(refname)") == "refs/heads/improve/it"
    assert sh(tree, "log", "--format=%s").splitlines() == ["step 2", "step 1", "step 0", "first"]
    assert sh(tree, "remote") == ""
    assert sh(tree, "fsck", "--strict") == ""
    everything = sh(tree, "cat-file", "--batch-all-objects", "--batch-check")
    assert rival not in everything
    assert not (tree / ".git/logs").exists()
    ours = {path.stat().st_ino for path in q.path.rglob("*")}
    assert ours.isdisjoint(path.lstat().st_ino for path in tree.rglob("*"))
    sh(tree, "commit", "-q", "--allow-empty", "-m", "the agent may commit")


def test_agent_clone_of_long_history_is_cut(repo, reopen, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("selfimprove.vcs.agent_tree.DEPTH", 2)
    for number in range(4):
        commit(repo, {"n.txt": str(number)}, f"step {number}")
    q = reopen(repo)
    agent_clone(q, q.target.head, "improve/it", tmp_path / "agent")
    log = sh(tmp_path / "agent", "log", "--format=%s").splitlines()
    assert log == ["step 3", "step 2"]
    assert sh(tmp_path / "agent", "fsck", "--strict") == ""


def test_agent_clone_of_a_shallow_target(repo: Path, reopen, tmp_path: Path) -> None:
    for number in range(4):
        commit(repo, {"n.txt": str(number)}, f"step {number}")
    sh(tmp_path, "clone", "-q", "--depth=2", f"file://{repo}", "short")
    q = reopen(tmp_path / "short")
    agent_clone(q, q.target.head, "improve/it", tmp_path / "agent")
    assert len(sh(tmp_path / "agent", "log", "--format=%s").splitlines()) == 2
    assert sh(tmp_path / "agent", "fsck", "--strict") == ""


def test_hidden_files_are_nowhere_in_an_agents_tree(repo: Path, reopen, tmp_path: Path) -> None:
    commit(repo, {"answers/key.txt": "forty-two"})
    q = reopen(repo)
    tree = tmp_path / "agent"
    overlay = Overlay(q.target.head, hidden=frozenset({"answers/key.txt"}))
    agent_clone(q, q.target.head, "improve/it", tree, overlay)
    assert not (tree / "answers/key.txt").exists()
    oid = q.entries(q.target.head)["answers/key.txt"].oid
    assert oid not in sh(tree, "cat-file", "--batch-all-objects", "--batch-check")
    assert len(sh(tree, "log", "--format=%h").splitlines()) == 1
    before = snapshot(tree)
    write(tree, {"src/app.py": "X = 2\n"})
    found = collected(q, Edited(q.target.head, tree, before))
    assert [change.path for change in found.changes] == ["src/app.py"]
    assert q.file(found.commit, "answers/key.txt") == b"forty-two"


# --- collect ---


@pytest.fixture
def edited(quarantine: Quarantine, target: Target, tmp_path: Path):
    """An agent's tree, and a function that collects what was done to it."""
    tree = tmp_path / "agent"
    agent_clone(quarantine, target.head, "improve/it", tree)
    before = snapshot(tree)

    def again():
        return collected(quarantine, Edited(target.head, tree, before))

    return tree, again


def _summary(found) -> list[tuple[str, str, str, str]]:
    return [(it.path, it.kind, it.old_mode, it.mode) for it in found.changes]


def test_untouched_tree_is_the_parents_tree(edited, quarantine, target) -> None:
    tree, collected = edited
    write(tree, {"src/app.py": "X = 1\n"})  # written again with the same bytes
    found = collected()
    assert (found.changes, found.odd) == ((), ())
    assert quarantine.tree_oid(found.commit) == quarantine.tree_oid(target.head)


def test_every_kind_of_edit_is_seen(edited, quarantine, repo) -> None:
    tree, collected = edited
    write(tree, {"src/util.py": "Y = 3\n", "new/ä\n-file": "n", "-dash": ""})
    (tree / "bench/run.sh").chmod(0o644)
    (tree / "link").unlink()
    (tree / "link").symlink_to("src/util.py")
    (tree / "src/app.py").unlink()
    write(tree, {"src/app.py/inside": "a file became a folder"})
    found = collected()
    assert _summary(found) == [
        ("-dash", "added", "", "100644"),
        ("bench/run.sh", "modified", "100755", "100644"),
        ("link", "modified", "120000", "120000"),
        ("new/ä\n-file", "added", "", "100644"),
        ("src/app.py", "deleted", "100644", ""),
        ("src/app.py/inside", "added", "", "100644"),
        ("src/util.py", "modified", "100644", "100644"),
    ]
    assert found.changes[2].link == "src/util.py"
    shutil.rmtree(tree / ".git")
    for path in repo.iterdir():
        if path.name != ".git":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.copytree(tree, repo, symlinks=True, dirs_exist_ok=True)
    sh(repo, "add", "-A", "-f")
    assert quarantine.tree_oid(found.commit) == sh(repo, "write-tree")


def test_same_size_and_same_mtime_hide_nothing(edited) -> None:
    tree, collected = edited
    path = tree / "src/app.py"
    was = path.stat()
    path.write_text("X = 9\n")
    os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
    assert [it.path for it in collected().changes] == ["src/app.py"]


def test_assume_unchanged_and_ignore_rules_of_the_agent_hide_nothing(edited) -> None:
    tree, collected = edited
    sh(tree, "update-index", "--assume-unchanged", "src/app.py")
    write(tree, {"src/app.py": "X = 4\n", ".gitignore": "*\n", ".git/info/exclude": "*\n"})
    write(tree, {"shadow.py": "", "sub/.gitignore": "*\n"})
    assert [it.path for it in collected().changes] == [
        ".gitignore",
        "shadow.py",
        "src/app.py",
        "sub/.gitignore",
    ]


def test_caches_and_what_the_base_ignores_are_left_out_and_listed(edited) -> None:
    tree, collected = edited
    write(tree, {"src/__pycache__/app.cpython-311.pyc": "x", "a.log": "", "build/x/y.o": ""})
    write(tree, {"x.pyc": "", "new\nline.log": "", "kept.txt": ""})
    found = collected()
    assert [it.path for it in found.changes] == ["kept.txt"]
    assert found.ignored == (
        "a.log",
        "build/x/y.o",
        "new\nline.log",
        "src/__pycache__/app.cpython-311.pyc",
        "x.pyc",
    )


def test_an_attribute_in_the_tree_changes_no_byte(edited, quarantine) -> None:
    tree, collected = edited
    write(tree, {".gitattributes": "* text eol=crlf ident\n", "w.txt": b"$Id$\r\n"})
    oid = {it.path: it.oid for it in collected().changes}["w.txt"]
    assert quarantine.blob(oid) == b"$Id$\r\n"


def test_what_no_commit_can_hold_is_odd(edited, monkeypatch) -> None:
    tree, collected = edited
    monkeypatch.setattr("selfimprove.vcs.collect.MAX_FILE", 1000)
    write(
        tree, {"nested/.git/config": "[core]\n", "other/.GIT": "gitdir: /tmp\n", "big": "x" * 1001}
    )
    os.mkfifo(tree / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(tree / "sock"))
    found = collected()
    assert [it.path for it in found.odd] == ["big", "nested/.git", "other/.GIT", "pipe", "sock"]
    assert found.changes == ()


def test_unreadable_files_and_folders_are_read_all_the_same(edited, quarantine) -> None:
    tree, collected = edited
    write(tree, {"src/app.py": "X = 5\n", "shut/in.py": "Z"})
    (tree / "src/app.py").chmod(0)
    (tree / "shut").chmod(0)
    found = collected()
    assert _summary(found) == [
        ("shut/in.py", "added", "", "100644"),
        ("src/app.py", "modified", "100644", "100644"),
    ]
    assert quarantine.blob(found.changes[1].oid) == b"X = 5\n"


def test_a_symlink_is_stored_as_a_link_never_as_what_it_shows(edited, quarantine, tmp_path) -> None:
    tree, collected = edited
    secret = tmp_path / "id_rsa"
    secret.write_text("secret")
    (tree / "leak").symlink_to(secret)
    (tree / "odd").symlink_to("a//b/./c")
    found = {it.path: it for it in collected().changes}
    assert quarantine.blob(found["leak"].oid) == os.fsencode(secret)
    assert quarantine.blob(found["odd"].oid) == b"a//b/./c"
    assert found["leak"].mode == "120000"


def test_overlaid_files_are_part_of_the_tree_only_when_edited(
    quarantine: Quarantine, target: Target, tmp_path: Path
) -> None:
    tree = tmp_path / "agent"
    overlay = Overlay(target.head, extra_files={"goal.md": b"# g", "score.sh": b"echo 1"})
    agent_clone(quarantine, target.head, "improve/it", tree, overlay)
    before = snapshot(tree)
    assert collected(quarantine, Edited(target.head, tree, before)).changes == ()
    write(tree, {"score.sh": "echo 9"})
    (tree / "goal.md").unlink()
    found = collected(quarantine, Edited(target.head, tree, before))
    assert [(it.path, it.kind) for it in found.changes] == [
        ("goal.md", "deleted"),
        ("score.sh", "modified"),
    ]


@pytest.mark.parametrize("edit", ["", "echo 2"])
def test_what_is_laid_in_place_of_a_folder_takes_the_folder_only_when_edited(
    quarantine: Quarantine, target: Target, tmp_path: Path, edit: str
) -> None:
    tree = tmp_path / "agent"
    overlay = Overlay(target.head, extra_files={"src": b"echo 1"})
    agent_clone(quarantine, target.head, "improve/it", tree, overlay)
    before = snapshot(tree)
    write(tree, {"src": edit}) if edit else (tree / "src").unlink()
    found = collected(quarantine, Edited(target.head, tree, before))
    kind = "modified" if edit else "deleted"
    assert [(it.path, it.kind) for it in found.changes] == [("src", kind)]
    there = sh(quarantine.path, "ls-tree", "-r", "--name-only", found.commit).splitlines()
    assert list(quarantine.entries(found.commit)) == there
    assert ("src/app.py" in there) == (not edit)
