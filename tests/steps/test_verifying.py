"""The verifier through the loop: a missed step alone is asked for again, and run.json tells."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from selfimprove.agents.base import AgentFailure
from selfimprove.app.options import ReplayOptions
from selfimprove.app.replay import replay
from selfimprove.store.rebuild import findings
from selfimprove.testing import a_plan
from selfimprove.testing.rehearsal import Rehearsal, number_plan, set_numbers

Stage = Callable[..., Rehearsal]
ONE = {"number_of_agents": 1}


def two_steps(request: Any, _tree: Path) -> dict[str, Any]:
    """A plan that lowers src/a and src/b."""
    steps = [
        {"step": number, "file": f"src/{name}", "change": "set the number to 20"}
        for number, name in enumerate("ab", 1)
    ]
    plan = a_plan("src/a", family=request.context["family"][0], steps=steps)
    return plan | {"target_files": ["src/a", "src/b"]}


def one_at_a_time(request: Any, tree: Path) -> dict[str, Any]:
    """An executor that carries out the first step of what it is shown."""
    step = request.context["plan"]["steps"][0]
    (tree / step["file"]).write_text("20\n")
    return {"summary": f"step {step['step']}"}


def verified(play: Rehearsal, who: str = "executor_1") -> list[tuple[str, int]]:
    found = [line["payload"] for line in play.lines(1) if line["type"] == "critique"]
    mine = [each for each in found if each["critic"] == "verifier"]
    of = [each for each in mine if who in (each.get("executor"), each.get("planner"))]
    return [(each["status"], each["attempt"]) for each in of]


def replayed(play: Rehearsal) -> int:
    return replay(ReplayOptions(1, play.repository.path, "default", None, play.trees, True))


def test_a_missed_step_is_asked_for_again_and_nothing_else(stage: Stage) -> None:
    told: list[Any] = []

    def executor(request: Any, tree: Path) -> dict[str, Any]:
        told.append((request.context, (tree / "src/a").read_text()))
        return one_at_a_time(request, tree)

    play = stage(planner=two_steps, executor=executor, settings=ONE)
    outcome = play.run(max_iterations=1)
    assert outcome.state.incumbent is not None
    assert outcome.state.incumbent.score == 70.0
    assert [call for call in play.calls if "executor" in call] == [
        "round_1/executor_1", "round_1/executor_1/fix_1",
    ]  # fmt: skip
    context, before = told[1]
    assert before == "20\n"  # it goes on from what it did
    assert [step["step"] for step in context["plan"]["steps"]] == [2]
    assert context["plan"]["target_files"] == ["src/b"]
    assert "step 2 is not carried out, src/b is as it was" in context["feedback"][0]
    assert verified(play) == [("fail", 1), ("pass", 2)]
    assert findings(play.layout) == []
    assert replayed(play) == 0


def test_who_cannot_do_a_step_is_asked_once_more_and_then_measured(stage: Stage) -> None:
    def stuck(_request: Any, tree: Path) -> dict[str, Any]:
        (tree / "src/a").write_text("20\n")
        return {"summary": "b cannot be lowered"}

    play = stage(planner=two_steps, executor=stuck, settings={**ONE, "max_fix_attempts": 5})
    assert play.run(max_iterations=1).state.wins_total == 1
    assert len([call for call in play.calls if "executor" in call]) == 2
    assert verified(play) == [("fail", 1)]  # the second time it is the same commit


def test_no_retry_budget_means_no_second_try(stage: Stage) -> None:
    play = stage(planner=two_steps, executor=one_at_a_time, settings={**ONE, "max_fix_attempts": 0})
    assert play.run(max_iterations=1).state.wins_total == 1
    assert [call for call in play.calls if "executor" in call] == ["round_1/executor_1"]


def test_a_file_beside_the_plan_is_sent_back(stage: Stage) -> None:
    def tidy(request: Any, tree: Path) -> dict[str, Any]:
        told = " ".join(request.context["feedback"])
        (tree / "src/c").write_text("30\n" if "'src/c' was changed" in told else "3\n")
        return set_numbers(request, tree)

    play = stage(planner=number_plan("a", 20), executor=tidy, settings=ONE)
    assert play.run(max_iterations=1).state.wins_total == 1
    assert verified(play) == [("fail", 1), ("pass", 2)]
    assert play.repository.git("show", "improve/lower_the_score:src/c") == "30"


@pytest.mark.long
def test_run_json_says_how_often_work_passed_the_first_time(stage: Stage) -> None:
    critic = [{"score": 1.0}, {"score": 0.6, "issues": ["why"]}]
    play = stage(
        planner=[number_plan("a", 20), number_plan("a", 19)],
        critic=critic,
        settings={**ONE, "max_critique_rounds": 2, "quality_threshold": 0.0},
    )
    play.run(max_iterations=2)
    assert verified(play, "planner_a") == [("pass", 1)]
    told = play.document("state/run.json")["verify"]
    # two briefs without ideas, two plans, one change; the second plan was revised once
    assert told == {
        "checked": 5, "passed_first": 2, "first_pass_rate": 0.4, "low": 4, "failed": 0,
        "retries": 1,
    }  # fmt: skip


@pytest.mark.long
def test_critics_scores_count_where_changes_are_criticised(stage: Stage) -> None:
    def critic(request: Any, _tree: Path) -> dict[str, Any]:
        again = "change" not in request.context or "revision" in request.session_id
        return {"score": 0.95 if again else 0.3}

    def executor(request: Any, tree: Path) -> dict[str, Any]:
        done = one_at_a_time(request, tree)
        if request.context.get("revision"):
            (tree / "src/b").write_text("19\n")
        return done

    play = stage(
        planner=two_steps, executor=executor, critic=critic,
        settings={**ONE, "critique_execution": True},
    )  # fmt: skip
    assert play.run(max_iterations=1).state.wins_total == 1
    assert verified(play) == [("fail", 1), ("fail", 2), ("pass", 3)]
    assert [call for call in play.calls if "executor" in call] == [
        "round_1/executor_1",
        "round_1/executor_1/fix_1",
        "round_1/executor_1/critic_1",
        "round_1/executor_1/revision_1",
        "round_1/executor_1/critic_1/revision_1",
    ]
    assert replayed(play) == 0


def test_who_fails_when_asked_for_a_missed_step_keeps_what_it_did(stage: Stage) -> None:
    def executor(request: Any, tree: Path) -> dict[str, Any]:
        if request.context["feedback"]:
            raise AgentFailure("exit", "nothing more to say")
        return one_at_a_time(request, tree)

    play = stage(planner=two_steps, executor=executor, settings=ONE)
    assert play.run(max_iterations=1).state.wins_total == 1
    assert len([call for call in play.calls if "executor" in call]) == 3
    assert play.document("state/results/round_1/executor_1.json")["status"] == "success"
