"""Confirmation through the loop: noise, stakes, stacking, closing pairs, conditions, held-out."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from selfimprove.app.replay import _differences
from selfimprove.app.run import summary
from selfimprove.bench.compare import candidate_first
from selfimprove.contracts.merge import MergeReport
from selfimprove.contracts.significance import HOLDOUT_QUESTIONS
from selfimprove.report import numbers
from selfimprove.report.decision import explained
from selfimprove.steps.confirming import ask_holdout
from selfimprove.steps.replaying import Known
from selfimprove.store.attempts import Attempts
from selfimprove.store.changes import changed
from selfimprove.store.files import write_whole
from selfimprove.store.journal import last_checkpoint
from selfimprove.store.record import envelopes
from selfimprove.store.state import State
from selfimprove.testing.rehearsal import SCORE, Rehearsal, number_plan, set_numbers

from .test_tournament import IMPROVE, NOISE

Stage = Callable[..., Rehearsal]
ONE = {"number_of_agents": 1}


def plan_of(numbers: dict[str, int]) -> Any:
    """A plan that sets several numbers."""
    files = [f"src/{name}" for name in numbers]
    steps = [
        {"step": k, "file": f"src/{name}", "change": f"set it to {value}"}
        for k, (name, value) in enumerate(numbers.items(), 1)
    ]
    first = next(iter(numbers))
    return number_plan(first, numbers[first], target_files=files, steps=steps)


def report_of(play: Rehearsal, number: int = 1) -> dict[str, Any]:
    found: dict[str, Any] = play.document(f"state/merge_reports/round_{number}.json")
    return found


def replayed(play: Rehearsal, number: int, forge: Callable[[Any], Any] = lambda e: e) -> list[str]:
    """What replay finds in a round, its lines forged or not."""
    saved = last_checkpoint(envelopes(play.layout, number - 1))
    state = State.parse(saved, "the checkpoint before")
    tried = [row for row in Attempts(play.layout.attempts).rows() if row["round"] < number]
    lines = [forge(each) for each in envelopes(play.layout, number)]
    return list(_differences(state, lines, Known(tried)))


@pytest.fixture(scope="module")
def idle(module_stage: Stage) -> Rehearsal:
    """Three candidates that change nothing, on a noisy benchmark."""
    plans = [plan_of({"a": 31, "b": 29}), plan_of({"b": 31, "c": 29}), plan_of({"c": 31, "a": 29})]
    play = module_stage(
        planner=[plans],
        score=NOISE,
        settings={
            "number_of_agents": 3,
            "significance.alpha": 0.002,
            "significance.max_pairs": 12,
        },
    )
    play.run(max_iterations=1)
    return play


def test_noise_alone_wins_nothing(idle: Rehearsal) -> None:
    assert IMPROVE not in idle.refs()
    assert report_of(idle)["status"] in ("no_winner", "no_improvement")
    rows = idle.document("tracking/raw_data.json")
    assert [row["is_winner"] for row in rows] == [False] * 3


def test_stakes_of_a_round_never_sum_to_more_than_alpha(idle: Rehearsal) -> None:
    report = report_of(idle)
    tried = (report.get("evidence") or {}).get("confirmations", [])
    stakes = [each["trial"]["stake"] for each in tried]
    assert stakes == sorted(stakes, reverse=True)
    assert sum(stakes) <= 0.002 + 1e-12
    # a candidate that screening found hopeless stakes nothing
    screened = [
        idle.document(f"state/results/round_1/executor_{k}.json")["status"] for k in (1, 2, 3)
    ]
    assert len(stakes) <= screened.count("success")
    assert bool(stakes) == ("success" in screened)


def test_replay_agrees_with_a_round_of_lost_confirmations(idle: Rehearsal) -> None:
    assert replayed(idle, 1) == []


def test_a_machine_that_has_become_slower_drops_no_candidate(stage: Stage, tmp_path: Path) -> None:
    """Since the baseline all is half as fast: the gain of 20% is above the stored score."""
    slow = tmp_path / "slow"
    score = f'test -e "{slow}" && sum=$((sum * 3 / 2))\n{NOISE}'
    pairs = {
        "significance.max_pairs": 6,
        "significance.closing_pairs": 2,
        "significance.alpha": 0.2,
    }
    play = stage(planner=number_plan("a", 12), score=score, settings={**ONE, **pairs})

    def drift(envelope: Any, _state: Any) -> None:
        if envelope.payload.get("event") == "round_started":
            slow.touch()

    play.run([drift], max_iterations=1)
    found = play.document("state/results/round_1/executor_1.json")
    assert (found["status"], found["benchmark_score"] > 90) == ("success", True)
    assert report_of(play)["status"] == "merged"
    runners = [
        line["payload"]["args"]["executor"]
        for line in play.lines(1)
        if line["payload"].get("tool") == "benchmark.run" and "args" in line["payload"]
    ]
    assert runners == ["executor_1", "incumbent", "incumbent", "executor_1", *runners[:2]]
    assert replayed(play, 1) == []


def test_a_benchmark_that_repeated_by_chance_is_measured_in_pairs(
    stage: Stage, tmp_path: Path
) -> None:
    """Its baseline runs agreed; one pair of what scatters now would prove nothing."""
    loose = tmp_path / "loose"
    score = f'if test -e "{loose}"; then\n{NOISE}else\n{SCORE}fi\n'
    play = stage(planner=number_plan("a", 12), score=score, settings=ONE)

    def loosened(envelope: Any, _state: Any) -> None:
        if envelope.payload.get("event") == "round_started":
            loose.touch()

    outcome = play.run([loosened], max_iterations=1)
    (found,) = report_of(play)["evidence"]["confirmations"]
    assert (found["trial"]["deterministic"], found["holds"]) == (False, True)
    assert len(found["pairs"]) >= 5
    assert len(found["closing"]) == 8
    events = [each.payload.get("event") for each in envelopes(play.layout, 1)]
    assert events.count("not_exact") == 1
    assert replayed(play, 1) == []
    assert "agreed, later ones did not" in summary(play.site(), outcome)


@pytest.fixture(scope="module")
def stacking(module_stage: Stage) -> Rehearsal:
    """Two clear gains that go together, on a noisy benchmark."""
    plans = [number_plan("a", 20), number_plan("b", 25)]
    play = module_stage(planner=[plans], score=NOISE, settings={"significance.closing_pairs": 4})
    outcome = play.run(max_iterations=1)
    write_whole(play.layout.summary, summary(play.site(), outcome).encode())
    return play


def test_a_runner_up_that_goes_together_with_the_win_is_stacked(stacking: Rehearsal) -> None:
    report = report_of(stacking)
    assert report["status"] == "merged"
    assert report["winner"]["executor_id"] == "executor_1"
    assert [each["executor_id"] for each in report["stacked"]] == ["executor_2"]
    assert report["archived"] == []
    first, second = report["evidence"]["confirmations"]
    assert second["base"] == first["commit"]
    assert second["trial"]["stake"] >= first["trial"]["stake"]  # a merge gives its stake back
    rows = stacking.document("tracking/raw_data.json")
    assert [row["is_winner"] for row in rows] == [True, True]
    show = stacking.repository.git
    assert (show("show", f"{IMPROVE}:src/a"), show("show", f"{IMPROVE}:src/b")) == ("20", "25")
    plans = [
        line
        for line in show("log", "--first-parent", "--format=%B", f"main..{IMPROVE}").splitlines()
        if line.startswith("Plan: ")
    ]
    assert plans == ["Plan: round_1_planner_b", "Plan: round_1_planner_a"]
    settings = stacking.document("state/agent-settings.json")
    assert settings["best_score"] == report["stacked"][0]["score_after"]


def test_closing_pairs_give_the_stored_score_and_its_interval(stacking: Rehearsal) -> None:
    report = report_of(stacking)
    for winner, found in zip(
        [report["winner"], *report["stacked"]], report["evidence"]["confirmations"], strict=True
    ):
        assert len(found["closing"]) == found["estimate"]["pairs"] == 4
        assert winner["score_after"] == found["estimate"]["score"]
        scores = {pair["candidate"]["score"] for pair in found["closing"]}
        assert scores.isdisjoint(pair["candidate"]["score"] for pair in found["pairs"])
        assert min(scores) <= winner["score_after"] <= max(scores)
    last = report["evidence"]["confirmations"][1]["estimate"]
    assert report["evidence"]["interval"] == [last["score_low"], last["score_high"]]
    told = "\n".join(explained(MergeReport.parse(report, "report")))
    assert "stacked on it: executor_2" in told
    assert "closing pairs, measured afresh" in told


def test_the_gain_of_the_run_is_measured_once_more_at_its_stop(stacking: Rehearsal) -> None:
    state = State.parse(last_checkpoint(envelopes(stacking.layout, 1)), "the last checkpoint")
    assert state.final is not None
    assert state.incumbent is not None
    assert state.final_of == state.incumbent.commit
    assert state.final.pairs == 4
    assert 0.13 < state.final.gain < 0.21  # 90 to 75, and less than 1 of noise
    assert state.final_pairs == []
    told = stacking.layout.summary.read_text()
    assert "first base against the tip, in 4 fresh pairs" in told
    rows = {line.split("|")[1].strip(): line for line in told.splitlines() if line[:1] == "|"}
    assert numbers.estimated_in_words(state.final) in rows["gain of the run"]
    assert "better" not in rows["stored score"]
    assert rows["interval"].count(" to ") == 2


def test_replay_agrees_and_catches_what_is_forged(stacking: Rehearsal) -> None:
    assert replayed(stacking, 1) == []

    def lost(envelope: Any) -> Any:
        """A verdict turned round."""
        if envelope.payload.get("event") != "confirmation":
            return envelope
        return envelope.model_copy(update={"payload": {**envelope.payload, "holds": False}})

    def flattered(envelope: Any) -> Any:
        """An estimate better than the closing pairs."""
        if envelope.payload.get("event") != "closed":
            return envelope
        better = {**envelope.payload["estimate"], "gain": 0.9}
        return envelope.model_copy(update={"payload": {**envelope.payload, "estimate": better}})

    assert "executor_1: confirmation.holds: False is recorded" in replayed(stacking, 1, lost)[0]
    assert "executor_1: closed.estimate.gain: 0.9 is" in replayed(stacking, 1, flattered)[0]


def test_a_forged_win_is_found_without_a_judgement_too(stage: Stage) -> None:
    play = stage(planner=plan_of({"a": 31, "b": 29}), settings=ONE)
    play.run(max_iterations=1)
    (lost,) = report_of(play)["evidence"]["confirmations"]
    assert (lost["holds"], "exactly equal" in lost["reason"]) == (False, True)
    assert replayed(play, 1) == []

    def won(envelope: Any) -> Any:
        if envelope.payload.get("event") != "confirmation":
            return envelope
        payload = {k: v for k, v in envelope.payload.items() if k != "judgement"} | {"holds": True}
        return envelope.model_copy(update={"payload": payload})

    assert ".holds: True is recorded" in "\n".join(replayed(play, 1, won))


def test_a_runner_up_that_conflicts_is_not_stacked_and_taught_no_lesson(stage: Stage) -> None:
    play = stage(planner=[[number_plan("a", 20), number_plan("a", 25)]])
    play.run(max_iterations=1)
    report = report_of(play)
    assert (report["winner"]["executor_id"], report.get("stacked")) == ("executor_1", None)
    assert "does not merge" in report["evidence"]["confirmations"][1]["reason"]
    assert report["archived"] == ["archive/round_1_executor_2"]
    loser = play.document("state/iteration_history/round_1.json")["losers"][0]
    assert loser["failure_analysis"] is None
    outcomes = [
        json.loads(line)["outcome"] for line in play.layout.attempts.read_text().splitlines()
    ]
    assert outcomes == ["won", "runner_up"]


@pytest.mark.parametrize(
    ("numbers", "settings", "name", "told"),
    [
        ({"a": 20}, {"constraints": ["a >= 25"]}, "a >= 25", " is false: a is 20"),
        (
            {"a": 20},
            {"constraints": ["files_changed < 1", "score <= 1000"]},
            "files_changed < 1",
            " is false: files_changed is 1",
        ),
        (
            {"a": 20, "b": 33},
            {"sub_scores": {"b": {"direction": "lower_is_better", "tolerance": 0.05}}},
            "b",
            "",
        ),
    ],
)
def test_a_better_score_that_breaks_a_condition_is_not_merged(
    stage: Stage, numbers: dict[str, int], settings: dict[str, Any], name: str, told: str
) -> None:
    play = stage(planner=plan_of(numbers), settings=ONE | settings)
    play.run(max_iterations=1)
    report = report_of(play)
    assert (report["status"], report["regressions_detected"]) == ("no_improvement", True)
    assert report["evidence"]["confirmations"][0]["regressions"] == [name]
    assert f"{name}{told}" in report["reason"]
    assert IMPROVE not in play.refs()
    loser = play.document("state/iteration_history/round_1.json")["losers"][0]
    assert name in loser["failure_analysis"]["why"]
    assert replayed(play, 1) == []


def test_conditions_that_are_kept_refuse_nothing(stage: Stage) -> None:
    rules = {"b": {"direction": "lower_is_better", "tolerance": 0.05}}
    play = stage(
        planner=plan_of({"a": 20, "b": 31}),
        settings=ONE | {"constraints": ["a <= 25 && files_changed <= 2"], "sub_scores": rules},
    )
    assert play.run(max_iterations=1).state.wins_total == 1
    assert report_of(play)["regressions_detected"] is False


def test_what_the_held_out_benchmark_refuses_is_not_merged_and_no_agent_hears_of_it(
    stage: Stage,
) -> None:
    heard: list[str] = []

    def planner(request: Any, tree: Path) -> dict[str, Any]:
        heard.append(request.model_dump_json())
        return number_plan("a", 20 + request.round)(request, tree)

    def executor(request: Any, tree: Path) -> dict[str, Any]:
        heard.append(request.model_dump_json())
        return set_numbers(request, tree)

    command = ': xyzzy; read -r n < src/a; echo "{\\"score\\": $((1000000 - n))}"'
    play = stage(planner=planner, executor=executor, settings=ONE | {"holdout_command": command})
    outcome = play.run(max_iterations=2)
    assert outcome.state.wins_total == 0
    assert outcome.state.holdout_asked == 2
    found = report_of(play)["evidence"]["confirmations"][0]
    assert (found["judgement"]["outcome"], found["holdout"], found["holds"]) == (
        "win",
        False,
        False,
    )
    assert "held-out benchmark says no" in report_of(play)["reason"]
    assert len(heard) == 4
    # scores long enough that no hash holds them by chance
    secret = ("xyzzy", "held-out benchmark", "999979", "999978")
    assert [word for word in secret if word in "".join(heard)] == []
    assert '"not confirmed beside the incumbent"' in heard[2]


def test_what_the_held_out_benchmark_allows_is_merged_and_its_gap_is_told(stage: Stage) -> None:
    command = 'read -r n < src/a; echo "{\\"score\\": $((n + 70))}"'
    play = stage(planner=number_plan("a", 20), settings=ONE | {"holdout_command": command})
    outcome = play.run(max_iterations=1)
    assert outcome.state.wins_total == 1
    found = report_of(play)["evidence"]["confirmations"][0]
    assert (found["holdout"], found["holdout_gain"]) == (True, pytest.approx(0.1))
    told = "\n".join(explained(MergeReport.parse(report_of(play), "report")))
    assert "held-out benchmark: yes (gain 10%, seen 11.1%, gap 1.11%)" in told
    text = summary(play.site(), outcome)
    assert "Held-out benchmark: asked 1 of at most 32 times." in text
    assert "gained 1.11% less there than on the seen one (mean of 1 merge" in text
    assert replayed(play, 1) == []


@pytest.mark.parametrize("where", ["committed", "uncommitted"])
def test_files_of_the_held_out_benchmark_are_in_no_agents_tree_and_are_sealed(
    stage: Stage, where: str
) -> None:
    seen: list[str] = []
    reached: list[str] = []

    def look(request: Any, tree: Path) -> None:
        names = [path.relative_to(tree).as_posix() for path in tree.rglob("*") if path.is_file()]
        seen.extend(name for name in names if "secret" in name)
        reached.extend(
            path.as_posix()
            for path in tree.rglob("*")
            if path.is_file() and b"xyzzy" in path.read_bytes()
        )
        if "xyzzy" in request.model_dump_json() or "secret" in request.model_dump_json():
            seen.append(request.agent_id)

    def planner(request: Any, tree: Path) -> dict[str, Any]:
        look(request, tree)
        return number_plan("a", 20)(request, tree)

    def executor(request: Any, tree: Path) -> dict[str, Any]:
        look(request, tree)
        (tree / "secret").mkdir()
        (tree / "secret/score.sh").write_text('echo "{\\"score\\": 1}"\n')
        return set_numbers(request, tree)

    files = {
        "secret/score.sh": ': xyzzy; read -r n < src/a; echo "{\\"score\\": $n}"\n',
        "secret/data/rows": "xyzzy\n",
    }
    settings = ONE | {"holdout_command": "sh -c '. ./secret/score.sh' secret/data/"}
    play = stage(
        planner=planner,
        executor=executor,
        files=files if where == "committed" else None,
        settings=settings,
    )
    if where == "uncommitted":
        play.repository.write(files)
        play.settings["holdout_command"] = "sh secret/score.sh secret/data/rows"
    outcome = play.run(max_iterations=1)
    assert (seen, reached) == ([], [])
    result = play.document("state/results/round_1/executor_1.json")
    assert result["failure_analysis"]["category"] in ("sealed_file_violation", "scope_error")
    assert outcome.state.holdout_asked == 0


def test_the_order_of_held_out_pairs_is_drawn_by_the_coin() -> None:
    key = "round_1/executor_1/holdout"
    drawn = {tuple(candidate_first(f"{run}", key, k) for k in range(3)) for run in range(64)}
    assert len(drawn) == 8


def test_a_spent_held_out_benchmark_is_asked_no_more(stage: Stage) -> None:
    """The last answers are not to be guessed from many questions: the candidate is refused."""
    asked: list[str] = []
    holdout = SimpleNamespace(measure=lambda commit, *_: asked.append(commit))
    play = stage(planner=number_plan("a", 20), settings=ONE)
    outcome = play.run(max_iterations=1)
    assert outcome.deps is not None
    deps = replace(outcome.deps, holdout=holdout)  # type: ignore[arg-type]
    state = changed(outcome.state, holdout_asked=HOLDOUT_QUESTIONS)
    drafts = ask_holdout(state, deps, "executor_1")
    told = next(drafts).payload
    assert (told["answer"], asked) == (False, [])
    assert "as often as it may" in told["reason"]


@pytest.mark.long
def test_max_pairs_follows_from_the_time_there_is_and_replay_takes_it_from_the_trial(
    stage: Stage,
) -> None:
    settings = ONE | {"significance.closing_pairs": 2, "budget.run.minutes": 1.0}
    slow = "sleep 0.2\n" + NOISE
    play = stage(planner=number_plan("a", 20), score=slow, settings=settings)
    play.run(max_iterations=1)
    (tried,) = report_of(play)["evidence"]["confirmations"]
    assert 5 <= tried["trial"]["max_pairs"] <= 15  # ten rounds in a minute, 0.2 s and more a run
    assert replayed(play, 1) == []

    def stretched(envelope: Any) -> Any:
        if envelope.payload.get("event") != "confirming":
            return envelope
        trial = {**envelope.payload["trial"], "max_pairs": 64}
        return envelope.model_copy(update={"payload": {**envelope.payload, "trial": trial}})

    assert "trial.max_pairs: 64 is recorded" in "\n".join(replayed(play, 1, stretched))
    assert any("fit in the time there is" in line for line in play.said)
