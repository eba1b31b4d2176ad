"""The tournament through the loop: who is confirmed, in what order, and what a tie is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from selfimprove.bench.compare import candidate_first, judge
from selfimprove.bench.estimate import closing
from selfimprove.contracts.benchmark import Pair, Sample
from selfimprove.contracts.significance import Trial
from selfimprove.steps.publishing import _confidence
from selfimprove.store.state import Confirmation
from selfimprove.testing.rehearsal import SCORE, Rehearsal, number_plan

Stage = Callable[..., Rehearsal]
NOISE = 'printf \'{"score": %d.%s%s}\\n\' $sum "$(date +%N)" "$parts"\n'
IMPROVE = "refs/heads/improve/lower_the_score"


def lucky_once(folder: Any) -> str:
    """A benchmark of which the number 7 looks good the first time, and never again."""
    return (
        f'case "$parts" in *\'": 7\'*) echo x >> "{folder}/runs"; '
        f'if [ "$(wc -l < "{folder}/runs")" -gt 1 ]; then sum=$((sum + 50)); fi ;; esac\n'
    ) + SCORE


def pairs(play: Rehearsal, number: int = 1) -> list[dict[str, Any]]:
    return [
        line["payload"]["args"]
        for line in play.lines(number)
        if line["payload"].get("tool") == "benchmark.pair" and line["type"] == "tool_call"
    ]


def test_where_the_best_is_not_confirmed_the_next_is_tried(stage: Stage, tmp_path: Any) -> None:
    play = stage(planner=[[number_plan("a", 7), number_plan("b", 20)]], score=lucky_once(tmp_path))
    play.run(max_iterations=1)
    report = play.document("state/merge_reports/round_1.json")
    tried = report["evidence"]["confirmations"]
    assert [(each["executor_id"], each["holds"]) for each in tried] == [
        ("executor_1", False), ("executor_2", True),
    ]  # fmt: skip
    assert "worse (117 against 90)" in tried[0]["reason"]
    assert report["winner"]["executor_id"] == "executor_2"
    assert report["archived"] == ["archive/round_1_executor_1"]
    assert play.repository.git("show", f"{IMPROVE}:src/a") == "30"
    history = play.document("state/iteration_history/round_1.json")
    assert history["losers"][0]["failure_analysis"]["what"].startswith("not confirmed")
    outcomes = [line.split('"outcome": ')[1] for line in play.layout.attempts.read_text().split("\n") if line]  # fmt: skip  # noqa: E501
    assert ["lost" in outcomes[0], "won" in outcomes[1]] == [True, True]


def test_a_tie_is_no_win(stage: Stage) -> None:
    both = ["src/a", "src/b"]
    steps = [
        {"step": 1, "file": "src/a", "change": "set it to 40"},
        {"step": 2, "file": "src/b", "change": "set it to 20"},
    ]
    play = stage(
        planner=number_plan("a", 40, target_files=both, steps=steps),
        settings={"number_of_agents": 1},
    )
    outcome = play.run(max_iterations=1)
    assert play.document("state/results/round_1/executor_1.json")["status"] == "success"
    report = play.document("state/merge_reports/round_1.json")
    assert (report["status"], report["re_benchmark_score"]) == ("no_improvement", 90.0)
    assert "exactly equal" in report["reason"]
    assert IMPROVE not in play.refs()
    assert outcome.state.settings is not None
    assert outcome.state.settings.patience_count == 1


def test_a_deterministic_benchmark_needs_one_pair(stage: Stage) -> None:
    play = stage(settings={"number_of_agents": 1})
    outcome = play.run(max_iterations=1)
    assert outcome.state.facts is not None
    assert outcome.state.facts.deterministic
    assert len(pairs(play)) == 1


def test_a_noisy_benchmark_is_confirmed_in_pairs_whose_order_a_coin_draws(stage: Stage) -> None:
    play = stage(score=NOISE, settings={"number_of_agents": 1})
    outcome = play.run(max_iterations=1)
    assert outcome.state.facts is not None
    assert not outcome.state.facts.deterministic
    deciding = [args for args in pairs(play) if args["purpose"] == "confirmation"]
    assert 5 <= len(deciding) <= 8  # all won: as few as could be at 5%, or by the look after that
    key = outcome.state.facts.seed_key
    coins = [
        candidate_first(key, "round_1/executor_1/confirmation", k) for k in range(len(deciding))
    ]
    assert [args["candidate_first"] for args in deciding] == coins
    assert len({tuple(args["commits"]) for args in deciding}) == 1
    report = play.document("state/merge_reports/round_1.json")
    assert report["status"] == "merged"
    measured = report["evidence"]["confirmations"][0]["pairs"]
    assert [pair["candidate_first"] for pair in measured] == coins
    message = play.repository.git("log", "-1", "--format=%B", IMPROVE)
    assert "Confidence: p=" in message
    assert f"in {len(deciding)} pairs; gain 3" in message
    # the winner's score is that of the closing pairs, neither the screening's nor the deciding
    screened = play.document("state/results/round_1/executor_1.json")["benchmark_score"]
    assert report["winner"]["score_after"] != screened
    assert report["winner"]["score_after"] == report["re_benchmark_score"]


@pytest.mark.parametrize(
    ("before", "after", "shown"), [(100.0, 110.0, "gain 10.00% ["), (-1.0, 1.0, "gain 2 [2, 2]")]
)
def test_a_gain_is_told_as_a_share_of_positive_scores_alone(
    before: float, after: float, shown: str
) -> None:
    samples = [Sample(score=score, duration_s=1) for score in (before, after)]
    measured = [Pair(incumbent=samples[0], candidate=samples[1], candidate_first=False)] * 8
    trial = Trial(direction="higher_is_better")
    won = Confirmation(
        executor_id="executor_1",
        merge_commit="a" * 40,
        trial=trial,
        judgement=judge(measured, trial),
    )
    assert shown in _confidence(won, closing(measured, "higher_is_better"))


def test_higher_is_better_where_the_goal_says_so(stage: Stage) -> None:
    from selfimprove.testing import goal_text

    goal = goal_text("sh bench.sh", direction="higher_is_better", objective="Raise the score")
    play = stage(planner=[[number_plan("a", 40), number_plan("b", 50)]], goal=goal)
    play.run(max_iterations=1)
    report = play.document("state/merge_reports/round_1.json")
    assert (report["winner"]["executor_id"], report["winner"]["score_after"]) == (
        "executor_2", 110.0,
    )  # fmt: skip
    assert "refs/heads/improve/raise_the_score" in play.refs()
