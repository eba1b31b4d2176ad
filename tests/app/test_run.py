"""`run` and `resume` from the command line: streams, exit codes, a run within its own process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from selfimprove.app.options import RunOptions
from selfimprove.app.run import run_flags
from selfimprove.cli import main
from selfimprove.store.rebuild import findings
from selfimprove.testing import failing
from selfimprove.testing.rehearsal import SCORE, Rehearsal, number_plan
from selfimprove.vcs.state import user_state
from selfimprove.vcs.target import open_target

Stage = Callable[..., Rehearsal]
AGENT = """import json, os, sys, time
request = json.load(sys.stdin)
role, family = request["role"], request["context"].get("family") or ["data"]
here = os.path.dirname(os.path.abspath(__file__))
with open(here + "/notes/calls", "a") as calls:
    calls.write(request["session_id"].split("/", 1)[1] + "\\n")
pause = here + "/notes/pause"
if os.path.exists(pause) and open(pause).read() == role:
    os.unlink(pause)
    time.sleep(60)
if role == "executor":
    step = request["context"]["plan"]["steps"][0]
    with open(step["file"], "w") as file:
        file.write(step["change"].split()[-1] + "\\n")
print("Let me think.")
print(json.dumps({
    "researcher": {"repo_analysis_summary": "numbers", "ideas": []},
    "planner": {
        "hypothesis": "Setting src/a to 20 should lower the score because it is added",
        "approach_family": family[0],
        "target_files": ["src/a"],
        "steps": [{"step": 1, "file": "src/a", "change": "set the number to 20"}],
        "expected_outcome": {"metric": "score", "estimated_impact": "10", "rationale": "a sum"},
    },
    "architect": {"verdict": "approve"},
    "critic": {"score": 1.0},
    "executor": {"summary": "set"},
}[role]))
"""
SLOW = 'if [ "$sum" -lt 90 ]; then sleep 1; fi\n' + SCORE
"""A candidate's measurement takes long enough to be interrupted."""


def command(play: Rehearsal, *words: str) -> list[str]:
    """The words of a command line on this rehearsal's target."""
    given = [words[0], str(play.repository.path), "--trees", str(play.trees)]
    return [*given, "--agent", play.spec, *words[1:]]


def run(play: Rehearsal, *words: str) -> int:
    return main(command(play, "run", "--yes", "--agents", "1", *words))


@pytest.fixture
def _no_chart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Charts have tests of their own, and take a second each."""
    monkeypatch.setattr("selfimprove.app.run.draw_chart", lambda _root: "")


def test_json_prints_the_journal_and_the_stop_last(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    play = stage()
    assert run(play, "--max-iterations", "1", "--json") == 0
    lines = capsys.readouterr().out.encode().splitlines()
    journal = [line for n in (0, 1) for line in play.layout.segment(n).read_bytes().splitlines()]
    assert lines == journal
    last = json.loads(lines[-1])
    assert last["type"] == "control"
    told = {k: last["payload"][k] for k in ("event", "status", "exit_code", "wins", "before", "after", "branch")}  # fmt: skip  # noqa: E501
    assert told == {
        "event": "stopped", "status": "max_iterations", "exit_code": 0, "wins": 1,
        "before": 90.0, "after": 87.0, "branch": "improve/lower_the_score",
    }  # fmt: skip
    assert (play.layout.root / "tracking/progress.png").stat().st_size > 1000
    summary = play.layout.summary.read_text()
    assert "set the number to 27" in summary
    assert "+27" in summary
    assert "git " in summary


@pytest.mark.usefixtures("_no_chart")
def test_the_summary_is_the_answer_and_progress_goes_elsewhere(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    play = stage()
    assert run(play, "--max-iterations", "1") == 0
    said = capsys.readouterr()
    assert said.out == play.layout.summary.read_text()
    assert "planner_a" in said.err
    assert run(play, "--max-iterations", "1") == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert "this run has ended: 1 of 1 iterations are done" in said.err


@pytest.mark.usefixtures("_no_chart")
@pytest.mark.parametrize(
    ("planner", "words", "code"),
    [
        (number_plan("a", 99), ["--require-win", "--max-iterations", "1"], 6),
        pytest.param(
            number_plan("a", 9),
            ["--require-win", "--max-iterations", "1"],
            0,
            marks=pytest.mark.long,
        ),
        (failing(), ["--require-win"], 4),
    ],
)
def test_exit_codes(stage: Stage, planner: Any, words: list[str], code: int) -> None:
    play = stage(planner=planner)
    assert run(play, *words) == code
    assert run(play, *words) == code  # a finished run has the code that it ended with


@pytest.mark.usefixtures("_no_chart")
def test_a_run_that_is_out_of_time_ends_well(stage: Stage) -> None:
    play = stage()
    assert run(play, "--max-iterations", "0") == 0
    assert run(play, "--max-iterations", "9", "--for", "0.01s") == 0
    assert play.document("state/agent-settings.json")["status"] == "time"


def test_nothing_runs_without_confirmation(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    play = stage()
    assert main(command(play, "run")) == 3
    assert "--yes" in capsys.readouterr().err
    assert play.calls == []


def test_there_must_be_a_run_to_resume(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    play = stage()
    assert main(command(play, "resume", "--yes")) == 3
    assert "no run to resume" in capsys.readouterr().err


class Program:
    """A run of its own process, with a command agent that counts its calls in a file."""

    def __init__(self, play: Rehearsal, folder: Path) -> None:
        self.play = play
        self.notes = folder / "notes"
        self.notes.mkdir(parents=True)
        agent = folder / "agent.py"
        agent.write_text(AGENT)
        play.spec = f"command:{sys.executable} -S {agent}"
        play.layout.settings.parent.mkdir(parents=True)
        paths = {"read": [str(folder)], "write": [str(self.notes)]}
        play.layout.settings.write_text(json.dumps({"agent_paths": paths}))

    def start(self, verb: str = "run") -> subprocess.Popen[bytes]:
        words = command(self.play, verb, "--yes", "--agents", "1", "--max-iterations", "1")
        environ = {**os.environ, "TMPDIR": str(self.notes.parent)}
        return subprocess.Popen(
            [sys.executable, "-m", "selfimprove", *words, "--json"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ, start_new_session=True,
        )  # fmt: skip

    def calls(self) -> list[str]:
        return (self.notes / "calls").read_text().splitlines()

    def wait_for(self, text: str) -> None:
        """Until the journal speaks of this."""
        path = self.play.layout.segment(1)
        for _ in range(600):
            if path.exists() and text in path.read_text():
                return
            time.sleep(0.05)
        raise AssertionError(f"the journal never spoke of {text}")


@pytest.fixture
def program(stage: Stage, tmp_path: Path) -> Program:
    return Program(stage(score=SLOW), tmp_path / "agents")


POINTS = {
    "planner": '"agent.ask","args":{"agent":"planner_a"',
    "executor": '"agent.ask","args":{"agent":"executor_1"',
    "screening": '"purpose":"screening"',
    "pair": '"tool":"benchmark.pair"',
}


@pytest.mark.long
@pytest.mark.parametrize("point", POINTS)
def test_a_run_that_is_interrupted_is_resumed_without_paying_twice(
    program: Program, point: str
) -> None:
    play = program.play
    before = user_state(open_target(play.repository.path))
    if point in ("planner", "executor"):
        (program.notes / "pause").write_text(point)
    process = program.start()
    program.wait_for(POINTS[point])
    while point in ("planner", "executor") and (program.notes / "pause").exists():
        time.sleep(0.02)
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err.decode()
    assert time.monotonic() - begun < 30
    last = json.loads(out.splitlines()[-1])["payload"]
    assert (last["event"], last["status"], last["exit_code"]) == ("stopped", "user_stopped", 130)
    assert play.document("state/agent-settings.json")["status"] == "user_stopped"
    process = program.start("resume")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err.decode()
    cut = {"planner": ["round_1/planner_a/plan_1"], "executor": ["round_1/executor_1"]}
    twice = [call for call, times in Counter(program.calls()).items() if times > 1]
    assert twice == cut.get(point, [])
    assert play.document("state/merge_reports/round_1.json")["status"] == "merged"
    assert play.repository.git("show", "improve/lower_the_score:src/a") == "20"
    assert user_state(open_target(play.repository.path)).differences(before) == []
    assert findings(play.layout) == []


@pytest.mark.long
def test_a_run_that_is_killed_goes_on_by_itself(program: Program) -> None:
    (program.notes / "pause").write_text("executor")
    process = program.start()
    program.wait_for(POINTS["executor"])
    while (program.notes / "pause").exists():
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    process = program.start()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err.decode()
    twice = [call for call, times in Counter(program.calls()).items() if times > 1]
    assert twice == ["round_1/executor_1"]
    assert program.play.document("state/merge_reports/round_1.json")["status"] == "merged"
    assert program.play.document("state/agent-settings.json")["status"] == "max_iterations"
    assert findings(program.play.layout) == []


def test_no_budget_lifts_every_limit_of_the_settings(stage: Stage) -> None:
    play = stage()
    limits = {"run": {"calls": 5, "usd": 1}, "step": {"tokens": 9}, "call": {"calls": 3}}
    limits["roles"] = {"critic": {"tokens": 7}}
    play.layout.settings.parent.mkdir(parents=True)
    play.layout.settings.write_text(json.dumps({"budget": limits}))

    def budget(*, lifted: bool) -> dict[str, Any]:
        flags = run_flags(RunOptions(play.repository.path, no_budget=lifted))
        given = play.site(**flags).config.settings.budget.limits()
        return {name: limit.document() for name, limit in given}

    assert budget(lifted=False)["roles.critic"] == {"tokens": 7}
    assert budget(lifted=False)["call"] == {"calls": 3}
    assert not any(budget(lifted=True).values())
