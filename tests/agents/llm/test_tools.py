"""What models' tools do, and what they refuse."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from selfimprove.agents.base import Workspace
from selfimprove.agents.llm.desk import LINES, Desk, RefusedError
from selfimprove.agents.llm.editing import Editor
from selfimprove.testing.workspaces import make_workspace

FILES = {
    "src/a.py": "A = 1\nB = 2\nB = 2\n",
    "src/dos.txt": "one\r\ntwo\r\n",
    "src/data.bin": b"\0\1",
    "long.txt": "".join(f"line {n}\n" for n in range(1000)),
}
LINK = (
    "diff --git a/src/link.py b/src/link.py\nnew file mode 120000\n--- /dev/null\n"
    "+++ b/src/link.py\n@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n"
)
PATCH = """--- a/src/a.py
+++ b/src/a.py
@@ -1,3 +1,3 @@
-A = 1
+A = 100
 B = 2
 B = 2
"""
NEW = "--- /dev/null\n+++ b/src/new.py\n@@ -0,0 +1 @@\n+N = 1\n"
DELETION = "--- a/src/dos.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\r\n-two\r\n"


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path, FILES)


@pytest.fixture
def desk(space: Workspace) -> Desk:
    return Desk(
        space.tree, space.stop, ({"iteration": 1}, {"iteration": 2}), "abc 2026-01-01 start"
    )


@pytest.fixture
def editor(desk: Desk, space: Workspace) -> Editor:
    files = ("src/a.py", "src/dos.txt", "src/new.py", "src/link.py")
    commands = {"tests": "cat src/a.py; touch made; test ! -e /etc/nothing", "false": "false"}
    return Editor(desk, space, files, commands, time.monotonic() + 30)


def test_files_are_listed_read_and_searched(desk: Desk) -> None:
    assert "src/a.py\t18" in desk.list_files().splitlines()
    assert desk.list_files("src", "*.py") == "src/a.py\t18"
    assert desk.read("src/a.py").splitlines() == [
        *("src/a.py, lines 1 to 3", "     1\tA = 1", "     2\tB = 2", "     3\tB = 2")
    ]
    assert desk.search("^B *=") == "src/a.py:2:B = 2\nsrc/a.py:3:B = 2"
    assert desk.search("line 99$", files="*.txt") == "long.txt:100:line 99"
    assert desk.search("nowhere to be found") == "no line matches"
    assert desk.search("-e B", "src") == "no line matches"
    assert (desk.log(), desk.history(1)) == ("abc 2026-01-01 start", '{"iteration": 2}')


def test_long_files_come_in_parts(desk: Desk) -> None:
    first = desk.read("long.txt").splitlines()
    assert len(first) == LINES + 2
    assert first[-1] == "... 1000 lines in all"
    assert desk.read("long.txt", 1000).splitlines()[-1] == "  1000\tline 999"
    assert desk.read("long.txt", 2000) == "long.txt has 1000 lines"


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "../agent.log", "src/../../agent.log", ".git/config", "out", "out/a", "src\0"],
)
def test_nothing_outside_the_tree_is_seen(desk: Desk, path: str, tmp_path: Path) -> None:
    (tmp_path / "agent.log").write_text("secret")
    (desk.tree / "out").symlink_to(tmp_path)
    for tool in (desk.read, desk.list_files, lambda place: desk.search("secret", place)):
        with pytest.raises(RefusedError):
            tool(path)
    assert "secret" not in desk.search("secret")


@pytest.mark.parametrize("path", ["src", "src/none.py", "src/data.bin", "pipe"])
def test_what_is_no_text_is_not_read(desk: Desk, path: str) -> None:
    os.mkfifo(desk.tree / "pipe")
    with pytest.raises(RefusedError):
        desk.read(path)


def test_a_bad_pattern_is_told(desk: Desk) -> None:
    with pytest.raises(RefusedError, match="search failed"):
        desk.search("(unclosed")


def test_pieces_are_replaced_where_they_are_unique(desk: Desk, editor: Editor) -> None:
    editor.replace("src/a.py", "A = 1\n", "A = 5\n")
    assert desk.text("src/a.py") == "A = 5\nB = 2\nB = 2\n"
    for old in ("B = 2", "C = 3", ""):
        with pytest.raises(RefusedError, match="nothing changed"):
            editor.replace("src/a.py", old, "x")
    editor.replace("src/dos.txt", "one\ntwo", "one\n1.5\ntwo")
    assert desk.data("src/dos.txt") == b"one\r\n1.5\r\ntwo\r\n"


def test_bytes_that_are_no_utf8_survive_an_edit(desk: Desk, editor: Editor) -> None:
    (desk.tree / "src/a.py").write_bytes(b"A = 1  # caf\xe9\n")
    editor.replace("src/a.py", "A = 1", "A = 2")
    assert desk.data("src/a.py") == b"A = 2  # caf\xe9\n"


def test_files_are_written_and_patched(desk: Desk, editor: Editor) -> None:
    editor.apply_patch(PATCH)
    assert desk.text("src/a.py").startswith("A = 100\n")
    editor.apply_patch(NEW)
    assert desk.text("src/new.py") == "N = 1\n"
    editor.apply_patch(DELETION)
    assert not (desk.tree / "src/dos.txt").exists()
    editor.write("src/new.py", "N = 2\n")
    assert desk.text("src/new.py") == "N = 2\n"


@pytest.mark.parametrize(
    "patch",
    [
        PATCH.replace("A = 1\n", "A = 7\n"),
        PATCH.replace("src/a.py", "long.txt"),
        PATCH.replace("src/a.py", "../agent.log"),
        PATCH.replace("b/src/a.py", "b/src/other.py"),
        "diff --git a/src/a.py b/src/a.py\nold mode 100644\nnew mode 100755\n",
        LINK,
        "not a patch",
    ],
)
def test_other_patches_change_nothing(desk: Desk, editor: Editor, patch: str) -> None:
    before = {path: path.lstat().st_mtime_ns for path in desk.tree.rglob("*")}
    with pytest.raises(RefusedError):
        editor.apply_patch(patch)
    assert {path: path.lstat().st_mtime_ns for path in desk.tree.rglob("*")} == before


def test_only_the_plans_files_are_written_and_no_links(desk: Desk, editor: Editor) -> None:
    for path in ("long.txt", "bench.sh", "../x", "/tmp/x"):
        with pytest.raises(RefusedError):
            editor.write(path, "x")
    (desk.tree / "src/link.py").symlink_to("a.py")
    with pytest.raises(RefusedError, match="is a link"):
        editor.write("src/link.py", "x")


def test_what_is_allowed_runs_and_leaves_nothing(
    desk: Desk, editor: Editor, space: Workspace
) -> None:
    before = sorted(path for path in space.tree.parent.rglob("*") if "cache" not in path.parts)
    said = editor.run("tests")
    assert said.startswith("exit code 0\nA = 1")
    assert editor.run("false").startswith("exit code 1")
    assert (
        sorted(path for path in space.tree.parent.rglob("*") if "cache" not in path.parts) == before
    )


@pytest.mark.parametrize("command", ["tests; id", "id", "", "cat src/a.py"])
def test_nothing_else_runs(editor: Editor, command: str) -> None:
    with pytest.raises(RefusedError, match="only these may be run: `tests`, `false`"):
        editor.run(command)


def test_a_run_ends_in_time(editor: Editor) -> None:
    slow = replace(editor, commands={"slow": "sleep 30"}, until=time.monotonic() + 1)
    assert slow.run("slow").startswith("timed out")
