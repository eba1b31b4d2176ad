from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from selfimprove.errors import ToolError
from selfimprove.vcs.git import MINIMUM, Git, git_version

from .gitrepo import commit, sh


def test_version_is_read_and_new_enough() -> None:
    assert git_version() >= MINIMUM


def test_failure_is_one_line_with_place_and_remedy(repo: Path) -> None:
    with pytest.raises(ToolError, match=r"git cat-file failed in .*Not a valid object") as raised:
        Git(repo / ".git").run("cat-file", "-p", "nowhere")
    assert "fsck" in raised.value.remedy
    assert "\n" not in str(raised.value)


def test_stdin_is_given_and_output_is_raw(repo: Path) -> None:
    git = Git(repo / ".git")
    oid = git.run("hash-object", "-w", "--stdin", stdin=b"a\r\n\0\n\n").decode().strip()
    assert git.run("cat-file", "blob", oid) == b"a\r\n\0\n\n"
    with git.stream("cat-file", "--batch", stdin=f"{oid}\n".encode()) as out:
        assert out.read() == f"{oid} blob 6\n".encode() + b"a\r\n\0\n\n\n"


def test_failing_stream_raises(repo: Path) -> None:
    with pytest.raises(ToolError), Git(repo / ".git").stream("ls-tree", "nowhere") as out:
        out.read()


def test_callers_git_variables_do_not_count(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    sh(elsewhere, "init", "-q")
    expected = sh(repo, "rev-parse", "HEAD")
    for name, value in {
        "GIT_DIR": str(elsewhere / ".git"),
        "GIT_OBJECT_DIRECTORY": str(elsewhere / ".git/objects"),
        "GIT_INDEX_FILE": str(elsewhere / "index"),
        "GIT_TRACE": "1",
        "GIT_CONFIG_PARAMETERS": "'core.bare=true'",
    }.items():
        monkeypatch.setenv(name, value)
    answer = Git(repo / ".git").attempt("rev-parse", "HEAD")
    assert (answer.code, answer.stdout.decode().strip(), answer.stderr) == (0, expected, "")


def test_repository_config_and_hooks_start_nothing(repo: Path, tmp_path: Path) -> None:
    proof = tmp_path / "proof"
    hook = repo / ".git/hooks/reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\necho hook >> {proof}\n")
    hook.chmod(0o755)
    sh(repo, "config", "core.fsmonitor", str(hook))
    sh(repo, "config", "core.hooksPath", str(hook.parent))
    git = Git(repo / ".git", repo)
    git.run("status", "--porcelain")
    git.run("update-ref", "refs/heads/made", "HEAD")
    assert not proof.exists()


def test_replaced_objects_are_not_seen(repo: Path) -> None:
    first = sh(repo, "rev-parse", "HEAD")
    second = commit(repo, {"src/app.py": "X = 666\n"})
    sh(repo, "replace", first, second)
    assert b"X = 1" in Git(repo / ".git").run("cat-file", "blob", f"{first}:src/app.py")


def test_importing_does_not_load_gitpython() -> None:
    code = (
        "import sys, selfimprove.vcs.git, selfimprove.vcs.quarantine; print('git' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
