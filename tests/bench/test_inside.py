"""The bootstrap, run as the room runs it, and what is made of its report."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from selfimprove.bench.inside import (
    Trusted,
    bootstrapped,
    learnt,
    new_nonce,
    program,
    read_report,
    wrong_with,
)
from selfimprove.contracts.benchmark import Inside
from selfimprove.room.channels import Pipe, handed_over

HELPER = "def check(x):\n    return x\n\n\ndef stop():\n    raise SystemExit(0)\n"

MAIN = "import sys; sys.modules['__main__']"
OUT = "import contextlib, io, os, sys"


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("python bench.py", "python {program} {report} - bench.py"),
        (
            "X=1 .venv/bin/python3.12 -I -X dev b.py --to {result}",
            "X=1 .venv/bin/python3.12 -I -X dev {program} {report} {result} b.py --to {result}",
        ),
        ("python3 -m pytest -q", "python3 {program} {report} - -m pytest -q"),
        ("cd a && python3 b.py | tail -1", "cd a && python3 {program} {report} - b.py | tail -1"),
        ("python a.py && python b.py", ""),
        ("pytest -q", ""),
        ("python -c 'print(1)'", ""),
        ("sh bench.sh python", ""),
        ("cpython bench.py", ""),
    ],
)
def test_where_the_bootstrap_goes(command: str, wanted: str) -> None:
    assert bootstrapped(command) == wanted


class Ran:
    """A main script, run with the bootstrap in a folder with a sealed helper."""

    def __init__(self, folder: Path, script: str, candidate: str = "", args: str = "") -> None:
        (folder / "helper.py").write_text(HELPER)
        (folder / "candidate.py").write_text(candidate)
        (folder / "main.py").write_text(script)
        nonce = new_nonce()
        result = folder / "result"
        with handed_over(program(nonce)) as descriptor, Pipe() as report:
            words = [f"/dev/fd/{descriptor}", str(report.given), str(result), *args.split()]
            self.done = subprocess.run(
                [sys.executable, *words, *([] if args else ["main.py"]), "an argument"],
                cwd=folder,
                capture_output=True,
                text=True,
                pass_fds=(descriptor, report.given),
                env={"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"},
            )
            self.told = read_report(report.read(), nonce)
        self.result = result.read_bytes() if result.exists() else None

    def technique(self, known: Inside | None = None) -> str:
        """What would be said of it beside a clean baseline."""
        known = known or Inside(files=[], patched=[])
        found = wrong_with(self.told, self.result, known, Trusted({"main.py", "helper.py"}))
        return found.technique if found else ""


def test_a_script_runs_as_it_would_by_itself(tmp_path: Path) -> None:
    script = (
        "import sys, helper, pickle\n"
        "class Mine: pass\n"
        "assert isinstance(pickle.loads(pickle.dumps(Mine())), Mine)\n"
        "print(__name__, __file__, sys.argv, sys.path[0], __spec__, sorted(vars())[-4:])\n"
    )
    ran = Ran(tmp_path, script)
    alone = subprocess.run(
        [sys.executable, "main.py", "an argument"], cwd=tmp_path, capture_output=True, text=True
    )
    assert ran.done.stdout == alone.stdout
    assert ran.done.stderr == ""
    assert ran.told
    assert ran.told.ended == "end"
    assert "helper.py" in ran.told.files
    assert ran.technique() == ""


def test_a_module_is_run_too(tmp_path: Path) -> None:
    ran = Ran(tmp_path, "import sys\nprint(sys.argv[1:], __name__)\n", args="-m main")
    assert ran.done.stdout == "['an argument'] __main__\n"
    assert ran.technique() == ""


@pytest.mark.parametrize(
    ("candidate", "technique"),
    [
        ("import os; os._exit(0)", "benchmark_cut_short"),
        ("raise SystemExit(0)", "benchmark_cut_short"),
        ("exit(0)", "benchmark_cut_short"),
        ("import argparse; argparse.ArgumentParser().exit(0)", "benchmark_cut_short"),
        ("import helper; helper.check(0)", ""),
        ("import helper; helper.stop()", "benchmark_cut_short"),
        (
            "exec(compile('exit(0)', __file__.replace('candidate', 'main'), 'exec'))",
            "benchmark_cut_short",
        ),
        ("import os; os.execv('/bin/true', ['true'])", "benchmark_cut_short"),
        ("import time; time.time = time.monotonic", "runtime_patched"),
        ("import builtins; builtins.print = lambda *_: None", "runtime_patched"),
        ("import json; json.JSONEncoder.encode = lambda *_: '1'", "runtime_patched"),
        ("import helper; helper.check = lambda _: True", "runtime_patched"),
        ("import helper; helper.check.__code__ = (lambda x: 1).__code__", "runtime_patched"),
        (f"{OUT}; sys.stdout = io.TextIOWrapper(io.BytesIO())", "runtime_patched"),
        (f"{OUT}; sys.stdout.__init__(io.BytesIO())", "runtime_patched"),
        (f"{OUT}; sys.stdout.buffer.__init__(io.FileIO('x', 'w'))", "runtime_patched"),
        (f"{OUT}; sys.stdout.buffer.raw.__init__('x', 'w')", "runtime_patched"),
        (f"{OUT}; os.dup2(os.open('x', os.O_CREAT | os.O_WRONLY), 1)", "runtime_patched"),
        (f"{OUT}; sys.stdout.reconfigure(encoding='utf-8', line_buffering=True)", ""),
        (f"{OUT}; contextlib.redirect_stdout(io.StringIO()).__enter__()", "runtime_patched"),
        (f"{OUT}\nwith contextlib.redirect_stdout(io.StringIO()):\n    print(1)", ""),
        (f"{OUT}; kept = os.dup(1); os.dup2(2, 1); print(1, flush=True); os.dup2(kept, 1)", ""),
        (f"{MAIN}.print = lambda *_: 0", "runtime_patched"),
        (f"{MAIN}.json = candidate = 5", "runtime_patched"),
        (f"{MAIN}.helper = 5", "runtime_patched"),
        (f"{MAIN}.clock = lambda: 1", "runtime_patched"),
        (f"{MAIN}.__builtins__ = {{}}", "runtime_patched"),
        (f"{MAIN}.clock = 5; sys.modules['__main__'] = sys", "runtime_patched"),
        (f"{MAIN}.unused = {MAIN[12:]}.sorted = {MAIN[12:]}.max = 5", ""),
        ("import unittest; unittest.TestCase.assertEqual = lambda *_: 0", "runtime_patched"),
        ("import unittest\nclass Mine(unittest.TestCase):\n    def assertEqual(self): pass", ""),
        ("import candidate; candidate.mine = lambda: 1", ""),
        ("import warnings; warnings.showwarning = lambda *_: None", ""),
        (
            "import atexit; atexit.register(lambda: open('result', 'w').write('1'))",
            "result_changed",
        ),
    ],
)
def test_what_a_candidate_does(tmp_path: Path, candidate: str, technique: str) -> None:
    script = (
        "import json, helper, os.path as path, xml.dom\n"
        "from time import perf_counter as clock\n"
        "import candidate\n"
        "max = 5\n"
        "open('result', 'w').write('5')\n"
        "if clock() < 0: print(json.dumps(path, max))\n"
    )
    assert Ran(tmp_path, script, candidate).technique() == technique


def test_a_script_that_ends_itself_is_fine(tmp_path: Path) -> None:
    for script in (
        "import sys\nsys.exit(0)\n",
        "import helper, os\nraise SystemExit\n",
        "import candidate, helper\nhelper.stop()\n",
        "import argparse\nargparse.ArgumentParser().exit(0)\n",
    ):
        ran = Ran(tmp_path, script)
        assert ran.done.returncode == 0
        assert ran.technique() == ""


def test_a_failure_is_told_as_one(tmp_path: Path) -> None:
    ran = Ran(tmp_path, "import candidate\n", "1 / 0")
    assert ran.done.returncode == 1
    assert "ZeroDivisionError" in ran.done.stderr
    assert ran.told
    assert (ran.told.ended, ran.told.by) == ("raised", ("main.py", "candidate.py"))


def test_what_the_baseline_does_is_right(tmp_path: Path) -> None:
    script = "import time, candidate\ntime.sleep = candidate.wait\nopen('result', 'w')\n"
    baseline = Ran(tmp_path, script, "def wait(_): pass\n")
    assert baseline.told
    known = learnt(baseline.told, b"written as it was closed")
    assert known.patched == ["time.sleep"]
    assert known.writes_late
    again = Ran(tmp_path, script, "def wait(_): pass\n")
    assert again.technique(known) == ""


def test_a_script_that_the_candidate_always_ends_is_fine(tmp_path: Path) -> None:
    ran = Ran(tmp_path, "import candidate\ncandidate.call(exit)\n", "def call(do): do()\n")
    assert ran.technique() == "benchmark_cut_short"
    assert ran.told
    known = learnt(ran.told, None)
    assert known.ended_by == ["candidate.py", "main.py"]
    assert ran.technique(known) == ""


def test_a_script_may_have_modules_of_any_name(tmp_path: Path) -> None:
    for name in ("ast", "dis", "opcode", "operator", "hashlib"):
        (tmp_path / f"{name}.py").write_text("own = True\n")
    ran = Ran(tmp_path, "import ast, dis, opcode, hashlib\nast.own and dis.own and opcode.own\n")
    assert ran.done.returncode == 0


def test_a_script_may_set_its_own_names(tmp_path: Path) -> None:
    script = (
        "from helper import *\n"
        "try:\n    import nothing_like_it as json\nexcept ImportError:\n    import json\n"
        "import time, xml.dom, os.path as path, json.encoder as encoder\n"
        "from time import time, sleep as print\n"
        "def sum(x): return x\n"
        "def load():\n    global re, len\n    import re\n    len = 5\n"
        "class Mine:\n    import csv\n    map = filter\n"
        "load(); print(0); sum(len)\n"
        "for any in map(str, [1]): del any\n"
        "import candidate; del candidate\n"
        "try: 1 / 0\nexcept ZeroDivisionError as hash: pass\n"
        "match [3]:\n    case [ord]: ord + 1\n"
        f"repr({'1 + ' * 900} 1)\n"
    )
    assert Ran(tmp_path, script).technique() == ""
    ran = Ran(tmp_path, f"sum = {'1 + ' * 2500} 1\nrepr(sum)\n")
    assert ran.technique() == "" or "RecursionError" in ran.done.stderr


@pytest.mark.parametrize("does", ["os.close(1)", "sys.stdout.close()", "sys.stdout.detach()"])
def test_a_script_that_always_leaves_its_output_is_fine(tmp_path: Path, does: str) -> None:
    ran = Ran(tmp_path, f"import os, sys\n{does}\n")
    assert ran.told
    assert ran.told.patched
    assert ran.technique(learnt(ran.told, None)) == ""


def test_a_report_of_somebody_elses_is_none() -> None:
    assert read_report(b"", "n") is None
    assert read_report(b"m\x1eend\x1e\x1e\x1e\x1e\x1e", "n") is None
    assert read_report(b"n\x1eend\x1e\x1e\x1e\x1e\x1en\x1eend\x1e\x1e\x1e\x1e\x1e", "n") is None
    assert read_report(b"n\x1eend\x1e\x1e\x1e\x1e\x1e", "n") is not None
