from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from selfimprove.bench.opened import Watch, why_unknown


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    if reason := why_unknown(tmp_path):
        pytest.skip(reason)
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("")
    (tmp_path / "pkg" / "used.py").write_text("VALUE = 1\n")
    (tmp_path / "pkg" / "unused.py").write_text("VALUE = 2\n")
    (tmp_path / "bench.py").write_text("import pkg.used\nopen('data.txt').read()\n")
    (tmp_path / "data.txt").write_text("1\n")
    (tmp_path / "link.txt").symlink_to("data.txt")
    return tmp_path


def run(tree: Path) -> None:
    subprocess.run([sys.executable, "bench.py"], cwd=tree, check=True)


def test_only_what_a_run_read_is_named(tree: Path):
    modified = (tree / "data.txt").stat().st_mtime_ns
    watch = Watch(tree)
    run(tree)
    opened = watch.opened()
    assert opened.known
    assert opened.files == {"bench.py", "data.txt", "pkg/__init__.py", "pkg/used.py"}
    assert (tree / "data.txt").stat().st_mtime_ns == modified


def test_bytecode_stands_for_its_source(tree: Path):
    run(tree)
    watch = Watch(tree)
    run(tree)
    assert {"pkg/used.py", "data.txt"} <= watch.opened().files
    assert "pkg/unused.py" not in watch.opened().files


def test_a_tree_that_cannot_be_probed_says_so(tmp_path: Path):
    opened = Watch(tmp_path / "missing").opened()
    assert not opened.known
    assert "access times cannot be set" in opened.reason
