"""Execution through the loop: guards and mending, forbidden edits, failed measurements."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from selfimprove.agents.base import AgentFailure
from selfimprove.testing import edits, failing
from selfimprove.testing.rehearsal import Rehearsal, number_plan, set_numbers

Stage = Callable[..., Rehearsal]
GREEN = {"name": "small", "command": "read a < src/a; echo a is $a; test $a -gt 5"}
ONE = {"number_of_agents": 1}


def result(play: Rehearsal, executor: str = "executor_1", number: int = 1) -> dict[str, Any]:
    found: dict[str, Any] = play.document(f"state/results/round_{number}/{executor}.json")
    return found


def category(play: Rehearsal) -> tuple[str, str]:
    found = result(play)
    assert found["benchmark_score"] is None
    return found["status"], found["failure_analysis"]["category"]


def alone(stage: Stage, executor: Any, value: object = 20, **settings: Any) -> Rehearsal:
    """One round of one planner and this executor."""
    play = stage(planner=number_plan("a", value), executor=executor, settings={**ONE, **settings})
    play.run(max_iterations=1)
    return play


def test_a_red_guard_goes_back_to_its_executor_until_it_is_green(stage: Stage) -> None:
    told: list[Any] = []

    def mends(request: Any, tree: Path) -> dict[str, Any]:
        told.append((request.context["feedback"], (tree / "src/a").read_text()))
        (tree / "src/a").write_text("6\n" if request.context["feedback"] else "3\n")
        return {"summary": "done"}

    play = alone(stage, mends, guards=[GREEN])
    assert result(play)["status"] == "success"
    assert play.refs("refs/heads/improve")
    assert [call for call in play.calls if "executor" in call] == [
        "round_1/executor_1", "round_1/executor_1/fix_1",
    ]  # fmt: skip
    # sent back with the guard's name and output, to its own last edit
    (feedback, start) = told[1]
    assert "guard 'small' exited with 1" in feedback[0]
    assert "a is 3" in feedback[0]
    assert start == "3\n"
    # and what is measured and merged is one commit on the incumbent
    assert play.repository.git("rev-list", "--count", "main..improve/lower_the_score") == "2"


@pytest.mark.parametrize("attempts", [2, pytest.param(0, marks=pytest.mark.long)])
def test_a_guard_that_stays_red_is_an_error_that_names_it(stage: Stage, attempts: int) -> None:
    play = alone(stage, edits({"src/a": "3\n"}), guards=[GREEN], max_fix_attempts=attempts)
    assert len([call for call in play.calls if "executor" in call]) == attempts + 1
    assert category(play) == ("error", "logic_error")
    assert result(play)["failure_analysis"]["what"] == "guard 'small' exited with 1"
    assert "a is 3" in result(play)["failure_analysis"]["why"]
    assert play.refs("refs/tags/archive") == {}


def test_edits_outside_the_scope_are_not_measured(stage: Stage) -> None:
    play = alone(stage, edits({"src/a": "3\n", "notes.txt": "yours\n"}))
    assert category(play) == ("error", "scope_error")
    assert "notes.txt" in result(play)["failure_analysis"]["what"]
    assert play.refs("refs/tags/archive", "refs/heads/improve") == {}


@pytest.mark.long
def test_edits_beyond_the_plan_are_not_measured(stage: Stage) -> None:
    play = alone(stage, edits({"src/a": "3\n", "src/b": "3\n"}))
    assert category(play) == ("error", "scope_error")
    assert "'src/b'" in result(play)["failure_analysis"]["what"]


def _names_that_are_no_text(_request: Any, tree: Path) -> dict[str, Any]:
    (tree / os.fsdecode(b"src/\xff.py")).write_text("1\n")
    return {"summary": "done"}


def _odd_names_that_are_no_text(_request: Any, tree: Path) -> dict[str, Any]:
    os.mkfifo(tree / os.fsdecode(b"src/\xff"))
    return {"summary": "done"}


@pytest.mark.parametrize("executor", [_names_that_are_no_text, _odd_names_that_are_no_text])
def test_a_name_that_is_no_text_is_refused_and_told(stage: Stage, executor: Any) -> None:
    play = alone(stage, executor)
    assert category(play) == ("error", "scope_error")
    assert r"\xff" in result(play)["failure_analysis"]["lesson"]


def test_who_edits_a_sealed_file_is_disqualified_and_not_tagged(stage: Stage) -> None:
    play = alone(stage, edits({"src/a": "3\n", "bench.sh": "echo '{\"score\": 1}'\n"}))
    assert category(play) == ("error", "sealed_file_violation")
    cheat = result(play)["disqualification"]
    assert cheat["technique"]
    assert "bench.sh" in cheat["evidence"]
    assert play.refs("refs/tags/archive", "refs/heads/improve") == {}
    lost = play.document("state/iteration_history/round_1.json")["losers"][0]
    assert lost["disqualification"] == cheat
    assert json.loads(play.layout.attempts.read_text())["outcome"] == "disqualified"
    row = play.document("tracking/raw_data.json")[0]
    assert (row["benchmark_score"], row["sub_scores"], row["is_winner"]) == (None, None, False)


def test_an_empty_patch_is_an_error(stage: Stage) -> None:
    play = alone(stage, edits({}))
    assert category(play) == ("error", "logic_error")
    assert result(play)["failure_analysis"]["what"] == "the executor changed nothing"


@pytest.mark.parametrize(
    ("value", "status", "kind"),
    [
        ("crash", "error", "logic_error"),
        ("hang", "timeout", "timeout"),
        ("junk", "error", "benchmark_parse_error"),
    ],
)
def test_a_candidate_that_cannot_be_measured(
    stage: Stage, value: str, status: str, kind: str
) -> None:
    play = alone(stage, set_numbers, value, benchmark_timeout=1.5)
    assert category(play) == (status, kind)
    assert play.document("state/merge_reports/round_1.json")["status"] == "no_winner"
    assert play.refs("refs/tags/archive", "refs/heads/improve") == {}
    settings = play.document("state/agent-settings.json")
    assert (settings["circuit_breaker_count"], settings["patience_count"]) == (1, 0)


def test_a_worse_candidate_is_a_regression_and_kept_under_a_tag(stage: Stage) -> None:
    play = alone(stage, set_numbers, 99)
    assert (result(play)["status"], result(play)["benchmark_score"]) == ("regression", 159.0)
    analysis = result(play)["failure_analysis"]
    assert analysis["category"] == "regression"
    assert "90 to 159" in analysis["what"]
    assert list(play.refs("refs/tags")) == ["refs/tags/archive/round_1_executor_1"]


def test_a_losers_patch_is_not_measured_again(stage: Stage) -> None:
    same = [
        number_plan("a", 99, family="data"),
        number_plan("a", 99, family="architecture"),
    ]
    play = stage(planner=same, settings=ONE)
    play.run(max_iterations=2)
    again = result(play, number=2)
    assert again["benchmark_score"] is None
    assert (
        "same patch as round_1_planner_a, which measured 159" in (again["failure_analysis"]["what"])
    )
    measured = [line for line in play.lines(2) if line["payload"].get("tool") == "benchmark.run"]
    assert measured == []


def test_an_agent_that_fails_is_asked_once_more_with_the_error(stage: Stage) -> None:
    def moody(request: Any, tree: Path) -> dict[str, Any]:
        if not request.context["feedback"]:
            raise AgentFailure("exit", "no coffee yet")
        assert "no coffee yet" in request.context["feedback"][0]
        assert "no coffee yet" in request.prompt
        return set_numbers(request, tree)

    play = alone(stage, moody)
    assert play.document("state/merge_reports/round_1.json")["status"] == "merged"
    assert play.calls.count("round_1/executor_1") == 2


def test_an_executor_that_fails_twice_is_left_out(stage: Stage) -> None:
    play = stage(executor=[[failing(message="cannot"), set_numbers]])
    play.run(max_iterations=1)
    assert play.calls.count("round_1/executor_1") == 2
    assert result(play)["failure_analysis"]["what"] == "the executor failed twice: cannot"
    assert category(play) == ("error", "infrastructure")
    assert result(play, "executor_2")["status"] == "success"
    assert play.document("state/merge_reports/round_1.json")["winner"]["executor_id"] == (
        "executor_2"
    )


def test_a_planner_that_fails_twice_is_left_out(stage: Stage) -> None:
    play = stage(planner=[[failing(), number_plan("b", 9)]], settings={"quality_threshold": 0.0})
    play.run(max_iterations=1)
    assert play.calls.count("round_1/planner_a/plan_1") == 2
    plans = play.document("state/iteration_state.json")["planning"]["plans"]
    assert plans["planner_a"]["status"] == "failed"
    # the first approved plan is executor 1's, whosever it is
    assert result(play)["plan_id"] == "round_1_planner_b"
    assert play.document("state/merge_reports/round_1.json")["status"] == "merged"


def test_without_a_brief_planners_work_from_history(stage: Stage) -> None:
    play = stage(researcher=failing())
    outcome = play.run(max_iterations=1)
    assert outcome.state.wins_total == 1
    assert not (play.layout.root / "state/research_briefs/round_1.json").exists()
    assert play.document("state/iteration_state.json")["research"]["status"] == "failed"
