"""Importing has no effect, and the command line starts without what it does not need yet."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from .source import modules

WATCH = """
import sys, os, importlib, json
done = []
writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

def watch(event, args):
    if event == "open" and args[2] & writing and args[0] != os.devnull:
        done.append(f"opens {args[0]} for writing")
    elif event in ("os.mkdir", "os.remove", "os.rename", "subprocess.Popen", "socket.connect"):
        done.append(f"{event} {args[0]}")

sys.addaudithook(watch)
guilty = {}
for name in json.loads(sys.argv[1]):
    importlib.import_module(name)
    if done:
        guilty[name] = done[:]
        done.clear()
sys.stderr.write(json.dumps(guilty))
"""

# Started as processes of their own: `python -m`. Drawing imports matplotlib, which keeps a cache.
STARTED = {"selfimprove.__main__", "selfimprove.report.charts"}

# What may be there before a command is known: the standard library and the parser of commands.
LIGHT = {"click", "selfimprove", "__main__", "sitecustomize", "usercustomize"}


def fresh(tmp_path: Path, code: str, *args: str) -> subprocess.CompletedProcess[str]:
    """Run code in a new interpreter, in an empty directory with an empty home."""
    home = tmp_path / "empty"
    home.mkdir()
    env = {key: value for key, value in os.environ.items() if not key.startswith("XDG_")}
    return subprocess.run(
        [sys.executable, "-B", "-c", code, *args],
        cwd=home,
        env=env | {"HOME": str(home)},
        capture_output=True,
        text=True,
    )


def test_importing_prints_nothing_and_writes_nothing(tmp_path: Path) -> None:
    names = [name for name in modules() if name not in STARTED]
    done = fresh(tmp_path, WATCH, json.dumps(names))
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert json.loads(done.stderr) == {}
    assert list((tmp_path / "empty").iterdir()) == []


def test_the_command_line_starts_with_the_parser_alone(tmp_path: Path) -> None:
    code = """
import sys
before = set(sys.modules)
from selfimprove.cli import main
assert main(["--help"]) == 0
new = {name.partition(".")[0] for name in set(sys.modules) - before}
sys.stderr.write(" ".join(sorted(new - sys.stdlib_module_names)))
"""
    done = fresh(tmp_path, code)
    assert done.returncode == 0, done.stderr
    assert set(done.stderr.split()) <= LIGHT
