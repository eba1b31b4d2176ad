"""Planning that is sent back: further each time, remembered, and priced first."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from selfimprove.app.options import ReplayOptions
from selfimprove.app.replay import replay
from selfimprove.contracts.envelope import Envelope
from selfimprove.report.wording import line_of
from selfimprove.testing import a_plan
from selfimprove.testing.rehearsal import Rehearsal, lower_each_round

from .test_critic_review import events
from .test_replaying import rewrite

Stage = Callable[..., Rehearsal]
LONE = {"number_of_agents": 1, "max_plan_retries": 2}


def refusable(family: str = "data") -> dict[str, Any]:
    """A plan that the rules refuse for what it wants to change."""
    return a_plan("bench.sh", family=family)


def learning(after: str) -> Callable[..., dict[str, Any]]:
    """A planner that plans soundly once a refinement of that level was told."""

    def plan(request: Any, tree: Path) -> dict[str, Any]:
        told = [each for each in request.context["feedback"] if "level" in each]
        if told and told[-1]["level"] == after:
            return lower_each_round(request, tree)
        return refusable()

    return plan


def replayed(play: Rehearsal, number: int, capsys: pytest.CaptureFixture[str]) -> list[str]:
    capsys.readouterr()
    replay(ReplayOptions(number, play.repository.path, "default", None, play.trees, True))
    found: list[str] = json.loads(capsys.readouterr().out)["differences"]
    return found


@pytest.fixture(scope="module")
def stubborn(module_stage: Stage) -> Rehearsal:
    """Two rounds of a planner that heeds nothing but the level `files`."""
    play = module_stage(planner=learning("files"), settings=LONE)
    play.run(max_iterations=3)
    return play


def levels(play: Rehearsal, number: int) -> list[str]:
    return [each["refinement"]["level"] for each in events(play, "planning_again", number)]


def test_a_round_escalates_until_a_plan_passes(stubborn: Rehearsal) -> None:
    assert levels(stubborn, 1) == ["families", "files"]
    assert stubborn.document("state/merge_reports/round_1.json")["status"] == "merged"


def test_what_helped_is_remembered_and_tried_first(stubborn: Rehearsal) -> None:
    assert levels(stubborn, 2) == ["files"]
    assert levels(stubborn, 3) == ["files"]
    (told,) = events(stubborn, "planning_again", 3)
    assert told["refinement"]["earlier"] == [
        "families: more plans passed after 0 of 1 such refinements",
        "files: more plans passed after 2 of 2 such refinements",
    ]
    state = stubborn.run(max_iterations=3).state
    kinds = {kind: (each.tried, each.helped) for kind, each in state.refinements.items()}
    cause = told["refinement"]["cause"]
    assert kinds == {f"{cause}/families": (1, 0), f"{cause}/files": (3, 3)}


@pytest.mark.parametrize("number", [1, 2, 3])
def test_replay_derives_them_again(
    stubborn: Rehearsal, number: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert replayed(stubborn, number, capsys) == []


def test_replay_finds_another_level(
    stubborn: Rehearsal, capsys: pytest.CaptureFixture[str]
) -> None:
    def change(line: dict[str, Any]) -> None:
        report = line["payload"].get("report", {})
        if line["payload"].get("event") == "quality" and report.get("suggested_refinement"):
            report["suggested_refinement"]["level"] = "approach"

    whole = rewrite(stubborn, 2, change)
    try:
        differences = replayed(stubborn, 2, capsys)
    finally:
        stubborn.layout.segment(2).write_bytes(whole)
    assert any("suggested_refinement.level" in each for each in differences)


def test_a_record_of_before_the_levels_replays(
    stubborn: Rehearsal, capsys: pytest.CaptureFixture[str]
) -> None:
    """Round 1 as it would have been written: no level, no cause, and the files at once."""

    def bare(refinement: dict[str, Any] | None) -> None:
        for name in ("level", "cause", "earlier"):
            (refinement or {}).pop(name, None)

    def change(line: dict[str, Any]) -> None:
        bare(line["payload"].get("report", {}).get("suggested_refinement"))
        bare(line["payload"].get("refinement"))

    whole = rewrite(stubborn, 1, change)
    try:
        assert replayed(stubborn, 1, capsys) == []
        text = stubborn.layout.segment(1).read_text()
        assert '"refinements"' not in text
    finally:
        stubborn.layout.segment(1).write_bytes(whole)


def test_thresholds_of_families_decide_whether_planning_is_sent_back(stage: Stage) -> None:
    def plans(request: Any, tree: Path) -> dict[str, Any]:
        if request.agent_id == "planner_b":
            return refusable("documentation")
        return lower_each_round(request, tree)

    strict = {"quality_threshold": 0.6}
    play = stage(planner=plans, settings={**strict, "quality_thresholds": {"documentation": 0.1}})
    play.run(max_iterations=1)
    (quality,) = events(play, "quality")
    assert quality["report"]["threshold"] == 0.35
    assert quality["report"]["meets_threshold"] is True
    assert events(play, "planning_again") == []


@pytest.mark.parametrize(
    ("limit", "calls", "told"),
    [
        # a plan costs one call: its rules refuse it, and nobody else is asked
        ("budget.iteration.calls", 3, ""),
        ("budget.iteration.calls", 2, "1 calls, and the iteration has 0 left"),
        ("budget.step.calls", 1, "1 calls, and the step planning has 0 left"),
        ("budget.roles.planner.calls", 1, "1 calls, and the role planner has 0 left"),
        ("budget.run.calls", 2, "1 calls, and the run has 0 left"),
    ],
)
def test_a_retry_that_cannot_be_paid_is_not_made_and_the_reason_stands_in_the_record(
    stage: Stage, limit: str, calls: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    play = stage(planner=lambda *_: refusable(), settings={**LONE, "max_plan_retries": 1})
    play.run(max_iterations=1, **{limit: calls})
    reports = [each["report"] for each in events(play, "quality")]
    assert len(events(play, "planning_again")) == (0 if told else 1)
    if told:
        (report,) = reports
        assert report["not_retried"] == f"planning once more would cost about {told}"
        assert report["suggested_refinement"]["level"] == "families"
        (line,) = [each for each in play.lines(1) if each["payload"].get("event") == "quality"]
        state = play.run(max_iterations=1).state
        words = line_of(Envelope.parse(line, "line"), state)
        assert words is not None
        assert words.text == f"planning is not tried once more: {report['not_retried']}"
    else:
        assert all("not_retried" not in report for report in reports)
    assert replayed(play, 1, capsys) == []
