"""Whole runs of the loop: what three rounds leave behind, document by document and ref by ref."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from selfimprove.cli import main
from selfimprove.contracts.agent import AgentSettings, RunReport
from selfimprove.contracts.base import Record
from selfimprove.contracts.benchmark import BenchmarkResult
from selfimprove.contracts.brief import ResearchBrief
from selfimprove.contracts.history import HistoryRecord
from selfimprove.contracts.iteration import IterationState
from selfimprove.contracts.merge import MergeReport
from selfimprove.contracts.plan import Plan
from selfimprove.contracts.tracking import Baseline, RawDataRow, TrackedEvent
from selfimprove.store.rebuild import findings
from selfimprove.testing.compare import files
from selfimprove.testing.documents import a_plan
from selfimprove.testing.rehearsal import Rehearsal, number_plan

Stage = Callable[..., Rehearsal]

CONTRACTS: dict[str, type[Record]] = {
    "state/agent-settings.json": AgentSettings,
    "state/iteration_state.json": IterationState,
    "state/run.json": RunReport,
    "state/research_briefs/": ResearchBrief,
    "state/iteration_history/": HistoryRecord,
    "state/results/": BenchmarkResult,
    "state/merge_reports/": MergeReport,
    "state/plan_archive/": Plan,
    "tracking/baseline.json": Baseline,
    "tracking/raw_data.json": RawDataRow,
    "tracking/events.json": TrackedEvent,
}
SIX_KEYS = {
    "iteration", "plan_id", "benchmark_score", "is_winner", "approach_family", "sub_scores",
}  # fmt: skip


def contract_of(path: str) -> type[Record]:
    return next(record for start, record in CONTRACTS.items() if path.startswith(start))


def valid(play: Rehearsal) -> int:
    """Validate every document against its contract; how many there were."""
    count = 0
    for path, data in files(play.layout).items():
        if path == "state/attempts.jsonl":
            continue
        found = json.loads(data)
        for document in found if isinstance(found, list) else [found]:
            contract_of(path).parse(document, path)
            count += 1
    return count


def four_endings() -> list[Any]:
    """A plan for each of two planners, so that the rounds end in each of the four ways."""
    both = ["src/a", "src/b"]
    steps = [{"step": k, "file": file, "change": "set it to 25"} for k, file in enumerate(both, 1)]
    equal = number_plan("a", 25, target_files=both, steps=steps)
    broken = number_plan("a", "crash", hypothesis="Crashing in src/a should save the time to add")
    refused = a_plan("bench.sh", "print a smaller number", family="data")
    return [
        [number_plan("a", 20), number_plan("a", 25)],  # merged, one measured loser
        [equal, None],  # measured, and exactly equal
        [broken, None],
        [refused, refused],
    ]


@pytest.fixture(scope="module")
def three(module_stage: Stage) -> Rehearsal:
    play = module_stage()
    assert play.run(max_iterations=3).exit_code == 0
    return play


def test_three_rounds_merge_the_better_candidate_of_each(three: Rehearsal) -> None:
    refs = three.refs("refs/heads/improve", "refs/tags")
    tags = [f"refs/tags/archive/round_{n}_executor_2" for n in (1, 2, 3)]
    assert list(refs) == ["refs/heads/improve/lower_the_score", *tags]
    assert three.refs("refs/heads/main").values() != refs.values()
    log = three.repository.git("log", "--first-parent", "--format=%(trailers)%P", "main..improve/lower_the_score")  # fmt: skip  # noqa: E501
    assert [line for line in log.splitlines() if line.startswith(("Plan", "Score"))] == [
        "Plan: round_3_planner_a", "Score-Before: 84.0", "Score-After: 81.0",
        "Plan: round_2_planner_a", "Score-Before: 87.0", "Score-After: 84.0",
        "Plan: round_1_planner_a", "Score-Before: 90.0", "Score-After: 87.0",
    ]  # fmt: skip
    assert log.count("Confidence: deterministic") == 3
    assert log.count("Benchmark: sh bench.sh") == 3
    assert three.repository.git("show", "improve/lower_the_score:src/a") == "21"
    # a loser's tag holds its own edit on the incumbent of its round
    assert three.repository.git("show", "archive/round_2_executor_2:src/a") == "25"
    for tip in ("improve/lower_the_score^2", "archive/round_1_executor_2"):
        assert three.repository.git("log", "-1", "--format=%an", tip) == "selfimprove"


def test_each_document_says_what_happened(three: Rehearsal) -> None:
    report = three.document("state/merge_reports/round_2.json")
    assert report["status"] == "merged"
    assert report["reason"] is None
    assert report["archived"] == ["archive/round_2_executor_2"]
    assert report["re_benchmark_score"] == 84.0
    assert report["winner"] == {
        "executor_id": "executor_1",
        "branch": "experiment/round_2_executor_1",
        "hypothesis": "To set the number to 24 in src/a should improve the score because it does "
        "less work",
        "score_before": 87.0,
        "score_after": 84.0,
        "sub_scores": {"a": 24.0, "b": 30.0, "c": 30.0},
    }
    history = three.document("state/iteration_history/round_2.json")
    assert history["baseline_score"] == 87.0
    assert history["winner"]["plan_id"] == "round_2_planner_a"
    assert [loser["score"] for loser in history["losers"]] == [85.0]
    assert history["research_brief_id"] == "round_2"
    rows = three.document("tracking/raw_data.json")
    assert all(set(row) == SIX_KEYS for row in rows)
    assert [(row["iteration"], row["benchmark_score"], row["is_winner"]) for row in rows] == [
        (1, 87.0, True), (1, 88.0, False), (2, 84.0, True), (2, 85.0, False),
        (3, 81.0, True), (3, 82.0, False),
    ]  # fmt: skip
    settings = three.document("state/agent-settings.json")
    assert settings["status"] == "max_iterations"
    assert (settings["iterations"], settings["trust_confirmed"]) == (3, True)
    assert (settings["baseline_score"], settings["best_score"]) == (90.0, 81.0)
    assert settings["goal_slug"] == "lower_the_score"
    baseline = three.document("tracking/baseline.json")
    assert baseline["deterministic"] is True
    assert len(baseline["measurement"]["samples"]) == 3
    assert baseline["commit"] == three.repository.head


def test_the_iteration_state_and_the_totals_are_those_of_a_finished_round(
    three: Rehearsal,
) -> None:
    state = three.document("state/iteration_state.json")
    assert (state["iteration"], state["status"]) == (3, "completed")
    steps = ("research", "planning", "execution", "tournament", "recording")
    assert {state[step]["status"] for step in steps} == {"completed"}
    assert state["tournament"]["winner"] == "executor_1"
    plans = state["planning"]["plans"]
    assert plans["planner_b"]["output_path"] == "state/plan_archive/round_3/plan_planner_b.json"
    assert (three.layout.root / plans["planner_b"]["output_path"]).is_file()
    assert state["execution"]["executors"]["executor_2"]["benchmark_score"] == 82.0
    assert three.document("state/run.json")["totals"]["calls"] == len(three.calls) == 27
    assert not (three.layout.root / "plans").exists() or not any(
        (three.layout.root / "plans").rglob("*.json")
    )


def test_the_archive_holds_each_plan_with_its_reviews(three: Rehearsal) -> None:
    for number in (1, 2, 3):
        for planner in ("planner_a", "planner_b"):
            plan = three.document(f"state/plan_archive/round_{number}/plan_{planner}.json")
            assert plan["plan_id"] == f"round_{number}_{planner}"
            assert plan["critic_approved"] is True
            assert plan["critic_review"]["verdict"] == "approved"
            assert plan["architect_review"]["verdict"] == "approve"


def test_rounds_end_in_each_of_the_four_ways(stage: Stage) -> None:
    play = stage(planner=four_endings())
    outcome = play.run(max_iterations=4)
    reports = [play.document(f"state/merge_reports/round_{n}.json") for n in (1, 2, 3, 4)]
    assert [report["status"] for report in reports] == [
        "merged", "no_improvement", "no_winner", "all_rejected",
    ]  # fmt: skip
    assert [report["winner"] is None for report in reports] == [False, True, True, True]
    assert reports[1]["reason"] == "no candidate held: executor_1: exactly equal (80 against 80)"
    assert reports[1]["re_benchmark_score"] == 80.0
    assert reports[2]["reason"] == "no candidate was measured as a success"
    assert reports[3]["reason"] == "no plan was approved"
    lost = play.document("state/iteration_history/round_3.json")["losers"][0]
    assert (lost["score"], lost["failure_analysis"]["category"]) == (None, "logic_error")
    assert outcome.state.settings is not None
    assert outcome.state.settings.patience_count == 1
    assert outcome.state.settings.circuit_breaker_count == 2
    assert valid(play) > 20
    assert findings(play.layout) == []


def test_every_document_fits_its_contract_and_the_journal(three: Rehearsal) -> None:
    # briefs, histories, reports: 1 a round; plans, results, rows: 2; baseline and three of state
    assert valid(three) == 3 * (3 + 6) + 4 + len(three.document("tracking/events.json"))
    assert findings(three.layout) == []


def test_the_record_is_restored_from_the_journal_byte_for_byte(three: Rehearsal) -> None:
    before = files(three.layout)
    for path in before:
        (three.layout.root / path).unlink()
    shutil.rmtree(three.layout.root / "tracking")
    repo = str(three.repository.path)
    assert len(findings(three.layout)) == len(before)
    assert main(["validate", repo]) == 1
    assert main(["validate", repo, "--rebuild"]) == 0
    assert files(three.layout) == before
    assert main(["validate", repo]) == 0


@pytest.mark.parametrize("number", [1, 2, 3])
def test_every_decision_is_derived_again_from_the_record(three: Rehearsal, number: int) -> None:
    assert main(["replay", str(number), str(three.repository.path)]) == 0


def test_a_run_goes_on_after_its_documents_were_damaged(stage: Stage) -> None:
    play = stage()
    play.run(max_iterations=1)
    raw, attempts = play.layout.root / "tracking/raw_data.json", play.layout.attempts
    raw.write_bytes(raw.read_bytes()[:-40])
    attempts.write_bytes(attempts.read_bytes()[:-7])
    (play.layout.root / "state/agent-settings.json").write_text("{}")
    play.run(max_iterations=2)
    assert findings(play.layout) == []


def test_attempts_index_every_plan(three: Rehearsal) -> None:
    rows = [json.loads(line) for line in three.layout.attempts.read_text().splitlines()]
    assert [row["outcome"] for row in rows] == ["won", "runner_up"] * 3
    assert rows[2]["incumbent_score"] == 87.0
    tree = three.repository.git("rev-parse", "improve/lower_the_score^{tree}")
    assert rows[4]["tree"] == tree
    assert rows[4]["parent"] == three.repository.git(
        "rev-parse", "improve/lower_the_score^1^{tree}"
    )


def test_the_root_keeps_itself_out_of_git(three: Rehearsal) -> None:
    assert (three.repository.path / ".selfimprove/.gitignore").read_text() == "*\n"
    assert three.repository.git("status", "--porcelain") == ""
    assert not list(Path(three.repository.path).glob("**/quarantine.git"))
