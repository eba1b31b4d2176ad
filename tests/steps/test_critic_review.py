"""Reviews through the loop: what is refused, what is sent back and how often."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from selfimprove.testing import a_plan, failing
from selfimprove.testing.rehearsal import Rehearsal, lower_each_round, number_plan

Stage = Callable[..., Rehearsal]
NO_RETRY = {"quality_threshold": 0.0}


def events(play: Rehearsal, name: str, number: int = 1) -> list[dict[str, Any]]:
    payloads = [line["payload"] for line in play.lines(number)]
    return [payload for payload in payloads if payload.get("event") == name]


def archived(play: Rehearsal, planner: str, number: int = 1) -> dict[str, Any]:
    plan: dict[str, Any] = play.document(f"state/plan_archive/round_{number}/plan_{planner}.json")
    return plan


two = "Lowering src/b should help because it is added. Also caching src/a should help because of it"


REFUSED: list[tuple[Any, str, str | None]] = [
    (number_plan("b", 9, hypothesis="..."), "no_hypothesis", "h001_hypothesis_count"),
    (number_plan("b", 9, hypothesis=two), "several_hypotheses", "h001_hypothesis_count"),
    (number_plan("b", 9, family="magic"), "unknown_family", "schema_valid"),
    (a_plan("../b", family="architecture"), "bad_path", "schema_valid"),
    (a_plan("notes.txt", family="architecture"), "out_of_scope", None),
    (a_plan("bench.sh", family="architecture"), "sealed_target", None),
    (a_plan("src/b", "reduce the number of benchmark runs"), "changes_measurement", None),
    (a_plan("src/b", family="documentation"), "documentation_out_of_scope", None),
]


@pytest.fixture(scope="module")
def refusing(module_stage: Stage) -> Rehearsal:
    """One sound plan, and one for every way to be refused."""
    plans = [number_plan("a", 20, family="data"), *(plan for plan, _, _ in REFUSED)]
    play = module_stage(planner=[plans], settings={"number_of_agents": len(plans), **NO_RETRY})
    play.run(max_iterations=1)
    return play


@pytest.mark.parametrize("case", range(len(REFUSED)), ids=[code for _, code, _ in REFUSED])
def test_a_plan_is_refused_with_its_reason(refusing: Rehearsal, case: int) -> None:
    planner = f"planner_{'bcdefghijk'[case]}"
    _, code, field = REFUSED[case]
    plan = archived(refusing, planner)
    assert plan["critic_approved"] is False
    assert plan["critic_review"]["verdict"] == "rejected"
    assert f"{code}: " in plan["critic_review"]["rejection_reason"]
    if field:
        assert plan["critic_review"][field] == "fail"
    # it never got as far as an agent's opinion
    assert [call for call in refusing.calls if f"{planner}/critic" in call] == []


def test_the_sound_plan_alone_is_carried_out(refusing: Rehearsal) -> None:
    rows = refusing.document("tracking/raw_data.json")
    assert [row["plan_id"] for row in rows] == ["round_1_planner_a"]
    assert refusing.document("state/merge_reports/round_1.json")["status"] == "merged"
    assert refusing.document("state/iteration_state.json")["planning"]["approved_count"] == 1


def test_two_plans_of_one_family_in_a_round_are_one_too_many(stage: Stage) -> None:
    plans = [number_plan("a", 20, family="data"), number_plan("b", 9, family="data")]
    play = stage(planner=[plans], settings=NO_RETRY)
    play.run(max_iterations=1)
    review = archived(play, "planner_b")["critic_review"]
    assert review["h003_intra_round_diversity"] == "fail"
    assert review["rejection_reason"].startswith("same_family: planner_a already has")
    assert archived(play, "planner_a")["critic_approved"] is True


def test_a_family_that_won_twice_may_not_win_a_third_time(stage: Stage) -> None:
    same = [[number_plan("a", 30 - n, family="data"), None] for n in (1, 2, 3, 4)]
    play = stage(planner=same, settings=NO_RETRY)
    play.run(max_iterations=4)
    plan = archived(play, "planner_a", 3)
    assert plan["critic_review"]["h002_family_streak"] == "fail"
    assert "family_streak" in plan["critic_review"]["rejection_reason"]
    assert (
        "data" not in events(play, "families_assigned", 3)[0]["planners"]["planner_a"]["families"]
    )
    # a round without a winner breaks the streak
    statuses = [play.document(f"state/merge_reports/round_{n}.json")["status"] for n in (3, 4)]
    assert statuses == ["all_rejected", "merged"]


def test_a_loser_may_be_repeated_only_by_who_owns_up_to_it(stage: Stage) -> None:
    owned = {"builds_on": "none", "avoids": "round_1_planner_a, whose incumbent was another"}
    worse = {"family": "data", "hypothesis": "Raising it should help because it is rounder"}
    plans = [
        [number_plan("a", 99, **worse), number_plan("b", 20, family="architecture")],
        [number_plan("a", 99, **worse), None],
        [number_plan("a", 99, **worse, history_reference=owned), None],
    ]
    play = stage(planner=plans, settings=NO_RETRY)
    play.run(max_iterations=3)
    assert archived(play, "planner_a", 2)["critic_review"]["history_aware"] == "fail"
    assert (
        "repeats round_1_planner_a"
        in (archived(play, "planner_a", 2)["critic_review"]["rejection_reason"])
    )
    assert archived(play, "planner_a", 3)["critic_approved"] is True


def test_too_few_sound_plans_send_planning_back_with_a_refinement(stage: Stage) -> None:
    told: list[Any] = []

    def stubborn(request: Any, _tree: Path) -> dict[str, Any]:
        told.append(request.context["feedback"])
        return a_plan("bench.sh", family="data")

    play = stage(planner=stubborn, settings={"max_plan_retries": 2, "number_of_agents": 1})
    play.run(max_iterations=1)
    assert [call for call in play.calls if "planner" in call] == [
        f"round_1/planner_a/plan_{n}" for n in (1, 2, 3)
    ]
    reports = [event["report"] for event in events(play, "quality")]
    assert [report["rejected"] for report in reports] == [1, 1, 1]
    assert reports[0]["rejection_breakdown"] == {"sealed_target": 1, "changes_measurement": 1}
    assert reports[0]["meets_threshold"] is False
    assert len(events(play, "planning_again")) == 2
    assert told[0] == []
    assert told[1][0]["files_in_scope"] == ["src/a", "src/b", "src/c"]
    assert play.document("state/merge_reports/round_1.json")["status"] == "all_rejected"


def test_only_the_refused_plan_again_after_a_refinement(stage: Stage) -> None:
    def learns(request: Any, tree: Path) -> dict[str, Any]:
        if request.agent_id == "planner_b" and not request.context["feedback"]:
            return a_plan("bench.sh", family="data")
        return lower_each_round(request, tree)

    play = stage(planner=learns, settings={"quality_threshold": 0.9})
    play.run(max_iterations=1)
    calls = sorted(call for call in play.calls if "/plan_" in call)
    assert calls == [  # the first two are asked side by side
        "round_1/planner_a/plan_1", "round_1/planner_b/plan_1", "round_1/planner_b/plan_2",
    ]  # fmt: skip
    assert archived(play, "planner_b")["critic_approved"] is True
    assert len(play.document("tracking/raw_data.json")) == 2


def test_a_plan_below_the_threshold_is_revised_and_then_rejected(stage: Stage) -> None:
    play = stage(
        planner=[[number_plan("a", 20), None]],
        critic={"score": 0.6, "issues": ["say why"], "summary": "vague"},
        settings={"max_critique_rounds": 3, **NO_RETRY},
    )
    play.run(max_iterations=1)
    assert [call for call in play.calls if "planner_a/critic_1" in call] == [
        "round_1/planner_a/critic_1",
        "round_1/planner_a/critic_1/revision_1",
        "round_1/planner_a/critic_1/revision_2",
    ]
    assert [call for call in play.calls if "planner_a/plan" in call] == [
        "round_1/planner_a/plan_1",
        "round_1/planner_a/plan_1_revision_1",
        "round_1/planner_a/plan_1_revision_2",
    ]
    assert [gate["decision"] for gate in events(play, "gate")] == ["retry", "retry", "reject"]
    plan = archived(play, "planner_a")
    assert "low_score" in plan["critic_review"]["rejection_reason"]
    assert "say why" in plan["critic_review"]["rejection_reason"]
    assert play.document("state/merge_reports/round_1.json")["status"] == "all_rejected"


def test_a_revision_that_convinces_is_what_is_carried_out_and_archived(stage: Stage) -> None:
    def plan(request: Any, tree: Path) -> dict[str, Any]:
        revised = request.context["plan"] is not None
        if revised:
            assert request.context["feedback"][0]["issues"] == ["bolder"]
        return number_plan("a", 5 if revised else 20)(request, tree)

    def critic(request: Any, _tree: Path) -> dict[str, Any]:
        bold = request.context["plan"]["steps"][0]["change"].endswith(" 5")
        return {"score": 1.0 if bold else 0.2, "issues": [] if bold else ["bolder"]}

    play = stage(planner=[[plan, None]], critic=critic, settings=NO_RETRY)
    outcome = play.run(max_iterations=1)
    assert archived(play, "planner_a")["steps"][0]["change"].endswith(" 5")
    assert outcome.state.incumbent is not None
    assert outcome.state.incumbent.score == 65.0


@pytest.mark.parametrize(
    "critique",
    [
        {"score": 7},
        pytest.param({"summary": "fine"}, marks=pytest.mark.long),
        pytest.param(failing("output", "prose alone"), marks=pytest.mark.long),
    ],
)
def test_a_malformed_critique_counts_nothing_and_the_loop_goes_on(
    stage: Stage, critique: Any
) -> None:
    sound = {"score": 1.0}
    play = stage(
        planner=[[number_plan("a", 20), None]],
        critic=[[sound, critique], [sound, sound]],
        settings={"number_of_max_critics": 2, "max_critique_rounds": 1, **NO_RETRY},
    )
    outcome = play.run(max_iterations=2)
    found = [line["payload"] for line in play.lines(1) if line["type"] == "critique"]
    (told,) = [each for each in found if each["critic"] == "critic_2"]
    assert told["score"] == 0.0
    assert told["issues"][0].startswith("malformed critique")
    statuses = [play.document(f"state/merge_reports/round_{n}.json")["status"] for n in (1, 2)]
    assert statuses == ["all_rejected", "merged"]
    assert outcome.state.wins_total == 1


@pytest.mark.long
def test_the_panels_mean_decides(stage: Stage) -> None:
    panel = [{"score": 0.8}, {"score": 1.0}]
    play = stage(
        planner=[[number_plan("a", 20), None]],
        critic=[panel],
        settings={"number_of_max_critics": 2, **NO_RETRY},
    )
    play.run(max_iterations=1)
    assert archived(play, "planner_a")["critic_approved"] is True


def test_an_architect_only_advises(stage: Stage) -> None:
    no = {"verdict": "reject", "feedback": "never", "structural_concerns": ["too bold"]}
    play = stage(planner=[[number_plan("a", 20), None]], architect=no, settings=NO_RETRY)
    assert play.run(max_iterations=1).state.wins_total == 1
    review = archived(play, "planner_a")["architect_review"]
    assert (review["verdict"], review["feedback"]) == ("reject", "never")
    assert "too bold" in review["structural_concerns"]


@pytest.mark.long
def test_an_architect_that_fails_is_done_without(stage: Stage) -> None:
    play = stage(planner=[[number_plan("a", 20), None]], architect=failing(), settings=NO_RETRY)
    assert play.run(max_iterations=1).state.wins_total == 1


def test_weights_let_one_critic_decide(stage: Stage) -> None:
    play = stage(
        planner=[[number_plan("a", 20), None]],
        critic=[[{"score": 1.0}, {"score": 0.2}]],
        settings={
            "number_of_max_critics": 2,
            "max_critique_rounds": 1,
            "gate_policy": "weighted_threshold",
            "gate.weights": {"critic_2": 0},
            **NO_RETRY,
        },
    )
    assert play.run(max_iterations=1).state.wins_total == 1
    (gate,) = events(play, "gate")
    assert (gate["decision"], gate["gate_policy"]) == ("commit", "weighted_threshold")


def split(request: Any, _tree: Path) -> dict[str, Any]:
    """Critics of whom the second likes nothing of planner a's."""
    second = request.agent_id == "critic_2" and "/planner_a/" in request.session_id
    return {"score": 0.1 if second else 1.0, "issues": ["too bold"] if second else []}


def test_a_plan_that_splits_the_panel_is_an_experiment_tried_last(stage: Stage) -> None:
    play = stage(
        planner=[[number_plan("a", 10), number_plan("b", 25)]],
        critic=split,
        settings={
            "number_of_max_critics": 2,
            "max_critique_rounds": 2,
            "gate_policy": "weighted_threshold",
            **NO_RETRY,
        },
    )
    outcome = play.run(max_iterations=1)
    decided = {(gate["planner"], gate["decision"]) for gate in events(play, "gate")}
    assert decided == {("planner_a", "retry"), ("planner_a", "branch"), ("planner_b", "commit")}
    plan = archived(play, "planner_a")
    assert (plan["critic_approved"], plan["critic_review"]["verdict"]) == (True, "approved")
    # the better candidate is tried after the one that everybody would carry out, on top of it
    report = play.document("state/merge_reports/round_1.json")
    assert report["winner"]["executor_id"] == "executor_2"
    assert [each["executor_id"] for each in report["stacked"]] == ["executor_1"]
    assert outcome.state.incumbent is not None
    assert outcome.state.incumbent.score == 65.0
    rows = [json.loads(line) for line in play.layout.attempts.read_text().splitlines()]
    assert [row.get("experiment") for row in rows] == [True, None]


def test_an_expression_of_the_projects_own_decides(stage: Stage) -> None:
    told: list[Any] = []

    def sure(request: Any, tree: Path) -> dict[str, Any]:
        told.append(request.context["feedback"])
        return number_plan("a", 20, confidence=0.8 if request.context["plan"] else 0.4)(
            request, tree
        )

    play = stage(
        planner=[[sure, None]],
        critic={"score": 0.5, "issues": []},
        settings={
            "gate_policy": "domain_specific",
            "gate.expression": "confidence >= 0.7 && score >= 0.5",
            **NO_RETRY,
        },
    )
    assert play.run(max_iterations=1).state.wins_total == 1
    assert [gate["decision"] for gate in events(play, "gate")] == ["retry", "commit"]
    assert "confidence is 0.4" in told[1][-1]["gate"]


GATE = r"""import json, sys
plan = json.load(sys.stdin)
if plan["review"]["score"] < 0.3 or not open(plan["target_files"][0]).read().strip() == "30":
    sys.exit("too little said for " + plan["hypothesis"][:20])
"""


def test_a_command_of_the_projects_own_decides(stage: Stage) -> None:
    play = stage(
        files={"gate.py": GATE},
        planner=[[number_plan("a", 20), number_plan("b", 25)]],
        critic=lambda request, _: {"score": 0.1 if "planner_b" in request.session_id else 0.5},
        settings={
            "gate_policy": "domain_specific",
            "gate.command": f"{sys.executable} gate.py",
            "max_critique_rounds": 1,
            **NO_RETRY,
        },
    )
    assert play.run(max_iterations=1).state.wins_total == 1
    decided = {gate["planner"]: gate for gate in events(play, "gate")}
    assert decided["planner_a"]["decision"] == "commit"
    assert decided["planner_b"]["decision"] == "reject"
    assert "gate.command exited with 1" in decided["planner_b"]["reason"]
    assert "too little said for" in decided["planner_b"]["reason"]
    asked = [line["payload"] for line in play.lines(1) if line["type"] == "tool_call"]
    assert [each["args"]["planner"] for each in asked if each["tool"] == "gate.command"] == [
        "planner_a", "planner_b",
    ]  # fmt: skip


def test_a_rule_of_the_project_that_is_an_expression_is_enforced(stage: Stage) -> None:
    play = stage(settings={"max_plan_retries": 0})
    play.layout.harness.parent.mkdir(parents=True)
    play.layout.harness.write_text("## Rules\n- Keep it short\n- `planner != 'planner_a'`\n")
    play.run(max_iterations=1)
    plans = {
        each: play.document(f"state/plan_archive/round_1/plan_{each}.json")
        for each in ("planner_a", "planner_b")
    }
    assert plans["planner_b"]["critic_approved"]
    reason = plans["planner_a"]["critic_review"]["rejection_reason"]
    assert "planner != 'planner_a' (planner is planner_a)" in reason
