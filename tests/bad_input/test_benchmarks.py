"""Benchmarks that do not give a score: each stops the start with one line that says why."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from selfimprove.testing import Repository, build_repository, goal_text

from .conftest import BENCH, COMMAND, FILES, Machine, later, tracked, untouched

LINE = r"""printf '{"score": 100}\n'"""


def with_bench(tmp_path: Path, script: str, **lines: str) -> Repository:
    files = {**FILES, "bench.sh": f"{script}\n"}
    return build_repository(tmp_path / "target", files, goal_text(COMMAND, **lines))


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("true", ["holds no score", "one line must be a JSON object"]),
        later("echo hello", ["score"]),
        later(f"{LINE}; {LINE}", ["2 scores", "exactly one line"]),
        (f"""{LINE}; printf '{{"score": 3}}\\n'""", ["2 scores", "exactly one line"]),
        ("""printf '{"score": NaN}\\n'""", ["NaN"]),
        ("""printf '{"score": Infinity}\\n'""", ["Infinity"]),
        later("""printf '{"score": 1e999}\\n'""", ["1e999"]),
        later("""printf '{"score": "fast"}\\n'""", ["score"]),
        later("""printf '{"score": true}\\n'""", ["score"]),
        later("""printf '{"score": null}\\n'""", ["score"]),
        later("""printf '{"score": 1, "score": 2}\\n'""", ["score", "twice"]),
        later("""printf '{"score": 1\\n'""", ["score"]),
        (f"{LINE}; exit 3", ["exited with 3", "does not count"]),
        later(f"{LINE}; kill -9 $$", ["ran out of memory", "Killed"]),
        ("echo oh no >&2; exit 1", ["exited with 1", "oh no"]),
        later("no-such-program", ["exited with 127", "no-such-program"]),
        ("yes | head -c 20000000", ["8 MiB", "{result}"]),
    ],
)
def test_no_score(machine: Machine, tmp_path: Path, script: str, says: list[str]) -> None:
    there = with_bench(tmp_path, script)
    with untouched(there.path):
        told = machine.run(there.path).refused(3, "benchmark 'sh bench.sh'", *says)
    log = there.path / ".selfimprove/default/logs/round_0/baseline_1.log"
    assert str(log) in told
    assert log.exists()


@pytest.mark.parametrize(
    ("form", "script", "says"),
    [
        later("number", "echo 1; echo 2", ["number"]),
        ("number", "echo nan", ["number"]),
        later("number", "true", ["number"]),
        ("regex:took ([0-9.]+) s", "echo took 1.5 s; echo took 2.5 s", ["took"]),
        later("regex:took ([0-9.]+) s", "echo took long", ["took"]),
        later("junit", "echo '<broken'", ["not a JUnit report"]),
    ],
)
def test_no_score_in_other_formats(machine: Machine, tmp_path, form, script, says) -> None:
    there = with_bench(tmp_path, script, format=form)
    machine.run(there.path).refused(3, "benchmark 'sh bench.sh'", *says)


def test_a_format_nobody_knows(machine: Machine, tmp_path: Path) -> None:
    there = with_bench(tmp_path, LINE, format="regex:took (")
    machine.run(there.path).refused(3, "goal.md", "took (")


@pytest.mark.long
def test_mended_it_goes_on_where_it_stopped(machine: Machine, tmp_path: Path) -> None:
    there = with_bench(tmp_path, "exit 1")
    machine.run(there.path).refused(3, "exited with 1")
    there.commit({"bench.sh": BENCH})
    machine.improved(there.path)


def test_hanging(machine: Machine, tmp_path: Path) -> None:
    there = with_bench(tmp_path, "sleep 600 & sleep 600")
    goal = goal_text(COMMAND) + "- Timeout: 1s\n"
    there.commit({"goal.md": goal})
    started = time.monotonic()
    with untouched(there.path):
        machine.run(there.path).refused(3, "did not end within 1 s", "baseline_1.log")
    assert time.monotonic() - started < 20


def test_a_program_that_does_not_exist(machine: Machine, tmp_path: Path) -> None:
    there = build_repository(tmp_path / "target", FILES, goal_text("bensch --all"))
    machine.run(there.path).refused(3, "bensch")


@pytest.mark.long
def test_a_tool_outside_the_room(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program beside the code that git does not track is not in the candidate's tree."""
    there = build_repository(tmp_path / "target", FILES, goal_text("tools/measure"))
    program = there.path / "tools/measure"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{BENCH}")
    program.chmod(0o755)
    (there.path / ".git/info/exclude").write_text("tools\n")
    answer = machine.run(there.path)
    if answer.code:
        told = answer.refused(3, "measure", "provide")
        assert "tools" in told
    else:
        assert "taken as they stand and sealed: tools/measure" in answer.err


@pytest.mark.long
def test_an_interpreter_outside_the_room(machine: Machine, tmp_path: Path) -> None:
    """Named by its absolute path in a folder that the room does not show."""
    program = tmp_path / "elsewhere/bin/measure"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\n{BENCH}")
    program.chmod(0o755)
    there = build_repository(tmp_path / "target", FILES, goal_text(str(program)))
    with untouched(there.path):
        told = machine.run(there.path).refused(3, str(program), "not found inside", "`provide`")
    line = told[told.index("add {") + 4 : told.index("} to ") + 1]
    settings = there.path / ".selfimprove/default/config/settings.json"
    settings.write_text(f'{{"provide": [{line}]}}')
    machine.improved(there.path)


@pytest.mark.long
def test_a_benchmark_that_breaks_during_a_run(machine: Machine, target: Repository) -> None:
    """The incumbent cannot be measured anew: the run stops, and goes on once that is mended."""
    machine.improved(target.path)
    settings = target.path / ".selfimprove/default/config/settings.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('{"benchmark_command": "sh bench.sh; exit 4"}')
    with untouched(target.path):
        machine.run(target.path, "--max-iterations", 2).refused(3, "incumbent", "exited with 4")
    settings.unlink()
    machine.run(target.path, "--max-iterations", 2).worked()
    assert tracked(target.path, "improve/lower_the_score", "src/conf.py") == "LIMIT = 25"


@pytest.mark.long
def test_a_guard_that_is_red_from_the_start(machine: Machine, tmp_path: Path) -> None:
    """No candidate could keep it green: the start stops before anything is spent on one."""
    text = goal_text(COMMAND) + "\n## Guards\n- `echo too bad; exit 5 # ../../../up/`\n"
    there = build_repository(tmp_path / "target", FILES, text)
    with untouched(there.path):
        machine.run(there.path).refused(3, "guard", "exited with 5", "too bad", "logs")
    there.write({"goal.md": goal_text(COMMAND) + "\n## Guards\n- `true # ../../../up/`\n"})
    machine.improved(there.path)
    root = there.path / ".selfimprove/default"
    assert sorted(path.parent for path in root.rglob("*guard*")) != []
    assert {path.parent.parent for path in root.rglob("*guard*")} == {root / "logs"}
