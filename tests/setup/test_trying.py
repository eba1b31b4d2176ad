"""What every set-up tries before anything is spent, and which benchmark it refuses."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from selfimprove.app.doctor import _canaries
from selfimprove.errors import ConfigError
from selfimprove.process import StopToken
from selfimprove.testing import goal_text
from selfimprove.testing.rehearsal import Rehearsal, stopping

Stage = Callable[..., Rehearsal]
CONSTANT = "import work, json\nprint(json.dumps({'score': 42}))\n"
OTHER = """sh bench.sh >/dev/null; echo '{"score": 42, "a": 1, "b": 2, "c": 3}'"""
WORK = {"src/work.py": "import time\n\n\ndef work():\n    time.sleep(0.01)\n"}
TIMED = """
import json, sys, time
sys.path.insert(0, "src")
import work
began = time.perf_counter()
for _ in range(20):
    work.work()
print(json.dumps({"score": SCORE}))
"""


def tried(play: Rehearsal) -> dict[str, str]:
    """Which canaries the record has, and their grades."""
    lines = [line["payload"] for line in play.lines(0)]
    told = [line["result"]["canary"] for line in lines if "canary" in line.get("result", {})]
    return {each["name"]: each["grade"] for each in told}


@pytest.mark.parametrize(
    ("files", "command"),
    [
        pytest.param({}, "echo '{\"score\": 42}'", id="nothing is run"),
        pytest.param(
            {"bench.py": CONSTANT, "src/work.py": "X = 1\n"},
            "PYTHONPATH=src python3 bench.py",
            id="it is imported, and not measured",
        ),
    ],
)
def test_a_benchmark_that_does_not_run_the_candidate_is_refused(
    stage: Stage, files: dict[str, str], command: str
) -> None:
    play = stage(files=files, goal=goal_text(command))
    with pytest.raises(ConfigError, match="every file in scope emptied it scores the same") as told:
        play.run()
    assert told.value.exit_code == 3
    assert "In scope" in told.value.remedy
    assert "\n" not in str(told.value)
    assert "baseline" not in [line["payload"].get("event") for line in play.lines(0)]
    play.repository.write({"goal.md": goal_text("sh bench.sh")})  # mended: it can begin
    assert play.run(max_iterations=1).state.wins_total == 1


def test_what_it_takes_is_said_and_a_resume_does_not_pay_again(stage: Stage) -> None:
    play = stage()
    stop = StopToken()
    begun = stopping(stop, lambda line: line.payload.get("event") == "round_started")
    play.run([begun], stop)
    assert sum("whose verdict is known" in line for line in play.said) == 1
    assert tried(play) == {
        "the benchmark runs the candidate": "ok",
        "a change that does nothing": "ok",
    }
    play.run(max_iterations=1)
    assert sum("whose verdict is known" in line for line in play.said) == 1
    told = [str(line) for n in (0, 1) for line in play.lines(n) if "benchmark.canary" in str(line)]
    assert len(told) == 4  # two intents, two results


@pytest.mark.long
def test_another_benchmark_is_tried_again(stage: Stage) -> None:
    play = stage()
    play.run(max_iterations=1)
    play.repository.write({"goal.md": goal_text(OTHER)})
    with pytest.raises(ConfigError, match="scores the same"):
        play.run(max_iterations=2)


@pytest.mark.long
def test_what_fails_already_cannot_be_told_apart(stage: Stage) -> None:
    files = {"check.sh": "! grep -q 30 src/a\n"}
    goal = goal_text("sh check.sh", direction="higher", format="pass/fail")
    play = stage(files=files, goal=goal)
    play.run(max_iterations=1)
    assert tried(play)["the benchmark runs the candidate"] == "ok"  # empty, there is no 30 in it
    files = {"check.sh": "grep -q 29 src/a\n"}
    play = stage(files=files, goal=goal)
    play.run(max_iterations=1)
    assert tried(play)["the benchmark runs the candidate"] == "note"


@pytest.mark.parametrize(
    ("score", "unit", "grade"),
    [
        ("time.perf_counter() - began", "s", "ok"),
        ("time.process_time() + 1", "s", "note"),
        ("1 / (time.perf_counter() - began)", "seconds", "problem"),
        ("time.perf_counter() - began", "points", None),
    ],
)
@pytest.mark.long
def test_asleep_for_half_of_the_time_a_time_must_lose(
    stage: Stage, score: str, unit: str, grade: str | None
) -> None:
    files = {**WORK, "bench.py": TIMED.replace("SCORE", score)}
    goal = goal_text("python3 bench.py").replace("- Direction", f"- Unit: {unit}\n- Direction")
    site = stage(files=files, goal=goal).site()
    for _ in range(3):  # other work on the machine may have slowed the baseline as much
        found = {each.name: each.grade for each in _canaries(site)}
        if found.get("a sleep") == grade:
            break
    assert found.get("a sleep") == grade
    if score.startswith("time.process_time"):
        return
    assert found["the benchmark runs the candidate"] == "ok"
