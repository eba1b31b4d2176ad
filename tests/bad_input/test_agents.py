"""Agents that say nothing, too much, or never come to an end: real programs in the real room."""

from __future__ import annotations

import json
import shlex
import sys
import time
from pathlib import Path

import pytest

from selfimprove.testing import Repository

from .conftest import Machine, branches, later, untouched

ROOT = ".selfimprove/default"
SPEAKER = Path(__file__).with_name("speaker.py")
IMPROVE = "refs/heads/improve/lower_the_score"


def spoken(how: str, role: str = "planner") -> str:
    return f"command:{shlex.join([sys.executable, str(SPEAKER), how, role])}"


def failures(target: Repository) -> list[str]:
    lines = (target.path / ROOT / "state/journal/round_1.jsonl").read_text().splitlines()
    results = [json.loads(line)["payload"].get("result") or {} for line in lines]
    return [result["error"] for result in results if result.get("ok") is False]


@pytest.mark.long
@pytest.mark.parametrize("role", ["planner", "executor", "researcher", "critic"])
def test_prose_around_the_answer(machine: Machine, target: Repository, role: str) -> None:
    with untouched(target.path):
        answer = machine.run(target.path, agent=spoken("prose", role)).worked()
    assert "1 win" in answer.out
    assert failures(target) == []


@pytest.mark.parametrize(
    ("how", "says"),
    [
        later("silent", "planner_a printed no answer"),
        later("dies", "planner_a exited with 7: the licence has run out"),
        later("binary", "planner_a's output"),
        ("huge-answer", "8388608 are allowed"),
    ],
)
def test_a_planner_without_an_answer(
    machine: Machine, target: Repository, how: str, says: str
) -> None:
    """Asked twice, left out of the round; nothing is merged and the run ends in good order."""
    with untouched(target.path):
        answer = machine.run(target.path, agent=spoken(how)).worked()
    told = failures(target)
    assert len(told) == 2
    assert all(says in each for each in told), told
    assert "planner_a" in answer.err
    assert branches(target.path) == ["refs/heads/main"]
    assert machine.call("validate", target.path).code == 0


@pytest.mark.long
def test_an_executor_without_an_answer(machine: Machine, target: Repository) -> None:
    machine.run(target.path, agent=spoken("silent", "executor")).worked()
    (result,) = (target.path / ROOT / "state/results/round_1").iterdir()
    document = json.loads(result.read_text())
    assert document["status"] == "error"
    assert "printed no answer" in json.dumps(document["failure_analysis"])
    assert branches(target.path) == ["refs/heads/main"]


@pytest.mark.long
@pytest.mark.parametrize("role", ["researcher", "architect", "critic"])
def test_an_adviser_without_an_answer_stops_nothing(
    machine: Machine, target: Repository, role: str
) -> None:
    answer = machine.run(target.path, agent=spoken("silent", role)).worked()
    if role == "critic":  # a critique that is none counts as 0.0: the plan falls
        assert "0 wins" in answer.out or "rejected" in answer.err
    else:
        assert "1 win" in answer.out
    assert machine.call("validate", target.path).code == 0


@pytest.mark.long
def test_a_hundred_megabytes(machine: Machine, target: Repository) -> None:
    with untouched(target.path):
        machine.run(target.path, agent=spoken("flood")).worked()
    assert all("output" in each for each in failures(target))
    assert len(failures(target)) == 2
    kept = sum(path.stat().st_size for path in (target.path / ROOT).rglob("*") if path.is_file())
    assert kept < 100 << 20


@pytest.mark.long
def test_a_hundred_megabytes_before_the_answer(machine: Machine, target: Repository) -> None:
    answer = machine.run(target.path, agent=spoken("flood-then-answer")).worked()
    assert "1 win" in answer.out


@pytest.mark.long
@pytest.mark.parametrize("how", ["endless", later("babbling")])
def test_never_ends(
    machine: Machine, target: Repository, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setenv("SELFIMPROVE_AGENT_TIMEOUT", "1.5")
    started = time.monotonic()
    with untouched(target.path):
        machine.run(target.path, agent=spoken(how)).worked()
    assert time.monotonic() - started < 60
    assert failures(target) == ["planner_a was still at it after 1.5 s"] * 2
    assert machine.call("validate", target.path).code == 0


@pytest.mark.long
def test_an_executor_that_never_ends(
    machine: Machine, target: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SELFIMPROVE_AGENT_TIMEOUT", "1.5")
    with untouched(target.path):
        machine.run(target.path, agent=spoken("endless", "executor")).worked()
    (result,) = (target.path / ROOT / "state/results/round_1").iterdir()
    document = json.loads(result.read_text())
    assert document["status"] in ("error", "timeout")
    assert "1.5 s" in json.dumps(document["failure_analysis"])


@pytest.mark.long
def test_a_program_that_is_not_there(machine: Machine, target: Repository) -> None:
    with untouched(target.path):
        machine.run(target.path, agent="command:no-such-agent --fast").worked()
    assert all("no-such-agent" in each for each in failures(target))
    assert branches(target.path) == ["refs/heads/main"]
