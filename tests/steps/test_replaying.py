"""`replay` finds an edited decision, however consistently the record around it was edited."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from selfimprove.app.options import ReplayOptions
from selfimprove.app.replay import replay
from selfimprove.contracts.envelope import Envelope
from selfimprove.store.fold import fold_one
from selfimprove.store.journal import digest, encode, last_checkpoint, read_lines
from selfimprove.store.record import envelopes
from selfimprove.store.state import State
from selfimprove.testing.rehearsal import Rehearsal, number_plan

Stage = Callable[..., Rehearsal]
Line = dict[str, Any]


@pytest.fixture(scope="module")
def played(module_stage: Stage) -> Rehearsal:
    """A round that is won, one that is lost, and one with a plan of two hypotheses."""
    two = "Hypothesis 1: caching helps. Hypothesis 2: batching helps."
    play = module_stage(
        planner=[
            [number_plan("a", 20), number_plan("b", 25)],
            [number_plan("a", 40), number_plan("b", 60)],
            [number_plan("a", 19), number_plan("b", 29, hypothesis=two)],
        ],
        settings={"max_plan_retries": 0},
    )
    play.run(max_iterations=3)
    return play


def found(play: Rehearsal, number: int, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The differences that `replay` prints."""
    told = replay(ReplayOptions(number, play.repository.path, "default", None, play.trees, True))
    differences: list[str] = json.loads(capsys.readouterr().out)["differences"]
    assert told == (1 if differences else 0)
    return differences


def rewrite(play: Rehearsal, number: int, change: Callable[[Line], None]) -> bytes:
    """Edit a round's lines, and chain and fold them again, so that only the decision is wrong."""
    path = play.layout.segment(number)
    whole, before = path.read_bytes(), read_lines(play.layout.segment(number - 1))
    saved = last_checkpoint(envelopes(play.layout, number - 1))
    state, prev, lines = State.parse(saved, "before"), digest(before[-1]), []
    for text in whole.splitlines():
        line = json.loads(text)
        change(line)
        envelope = Envelope.parse({**line, "prev": prev}, "edited")
        state = fold_one(state, envelope)
        if "state" in envelope.payload:
            payload = {**envelope.payload, "state": state.document()}
            envelope = envelope.model_copy(update={"payload": payload})
        lines.append(encode(envelope))
        prev = digest(lines[-1])
    path.write_bytes(b"\n".join(lines) + b"\n")
    return whole


def of(event: str) -> Callable[[Line], bool]:
    """Lines of one event; `verdicts` for the rules' critiques."""
    return lambda line: event in (line["payload"].get("event"), line["payload"].get("critic"))


def put(path: str, value: Any) -> Callable[[Line], None]:
    """Set what lies at a dotted path of a payload."""

    def change(line: Line) -> None:
        *way, last = [int(part) if part.isdecimal() else part for part in path.split(".")]
        place: Any = line["payload"]
        for part in way:
            place = place[part]
        assert place[last] != value
        place[last] = value

    return change


def pass_h001(line: Line) -> None:
    verdicts = line["payload"]["verdicts"]
    verdicts[0] = {**verdicts[0], "passed": True, "code": "", "message": "", "remedy": ""}
    line["payload"] |= {"verdict": "pass", "score": 1.0}


def swap_families(line: Line) -> None:
    planners = line["payload"]["planners"]
    a, b = planners["planner_a"], planners["planner_b"]
    a["families"], b["families"] = b["families"], a["families"]


def other_status(line: Line) -> None:
    line["payload"]["result"]["status"] = "success"
    line["payload"]["result"]["failure_analysis"] = None


EDITS: list[tuple[int, str, int, Callable[[Line], None], str]] = [
    (2, "result", 0, other_status, "executor_1: status"),
    (1, "result", 1, put("result.benchmark_score", 84.0), "executor_2: benchmark_score"),
    (1, "gate", 0, put("decision", "reject"), "decision"),
    (1, "gate", 0, put("plan.critic_approved", False), "critic_approved"),
    (3, "gate", 1, put("plan.critic_approved", True), "critic_approved"),
    (3, "rules", 1, pass_h001, "h001"),
    (1, "verifier", 1, put("status", "low"), "planner_a: verify.status"),
    (3, "verifier", 2, put("score", 0.9), "planner_b: verify.score"),
    (1, "quality", 0, put("report.meets_threshold", False), "quality.meets_threshold"),
    (1, "executors_named", 0, put("executors.executor_1", "round_1_planner_b"), "executors"),
    (2, "recorded", 0, put("counters.patience_count", 7), "recorded.counters.patience_count"),
    (1, "recorded", 0, put("counters.best_score", 1.0), "recorded.counters.best_score"),
    (1, "recorded", 0, put("rows.1.is_winner", False), "recorded.rows[2].is_winner"),
    (1, "recorded", 0, put("history.winner.score", 1.0), "recorded.history.winner.score"),
    (1, "recorded", 0, put("attempts.1.outcome", "lost"), "recorded.attempts[2].outcome"),
    (1, "merge_report", 0, put("report.winner.score_after", 70.0), "winner.score_after"),
    (1, "merge_report", 0, put("incumbent.score", 70.0), "incumbent.score"),
    (1, "merge_report", 0, put("report.stacked.0.score_after", 70.0), "stacked[1].score_after"),
    (1, "confirming", 0, put("trial.stake", 0.5), "trial.stake"),
    (1, "confirming", 1, put("base", "0" * 40), "confirming: base"),
    (1, "confirmation", 0, put("score_after", 70.0), "score_after"),
    (1, "confirmation", 1, put("judgement.outcome", "loss"), "judgement.outcome"),
    (1, "closed", 1, put("score_after", 70.0), "closed.score_after"),
    (1, "families_assigned", 0, swap_families, "families.planner_a"),
    (2, "families_assigned", 0, swap_families, "families.planner_a"),
    (1, "decided", 0, put("decision", "plateau"), "decided"),
    (3, "decided", 0, put("decision", "go_on"), "decided"),
]


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_round_as_it_was_played_has_no_differences(
    played: Rehearsal, number: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert found(played, number, capsys) == []


@pytest.mark.parametrize(
    ("number", "event", "which", "edit", "named"),
    EDITS,
    ids=[f"{number}-{event}-{named}" for number, event, _, _, named in EDITS],
)
def test_an_edited_decision_is_found(
    played: Rehearsal,
    capsys: pytest.CaptureFixture[str],
    number: int,
    event: str,
    which: int,
    edit: Callable[[Line], None],
    named: str,
) -> None:
    lines = [line for line in played.lines(number) if of(event)(line)]
    seq = lines[which]["seq"]

    def change(line: Line) -> None:
        if line["seq"] == seq:
            edit(line)

    whole = rewrite(played, number, change)
    try:
        differences = found(played, number, capsys)
    finally:
        played.layout.segment(number).write_bytes(whole)
    assert any(each.startswith(f"msg_{seq}: ") and named in each for each in differences)
    assert not any("checkpoint" in each for each in differences)


def test_an_edit_of_the_checkpoint_alone_is_found(
    played: Rehearsal, capsys: pytest.CaptureFixture[str]
) -> None:
    path = played.layout.segment(2)
    whole = path.read_bytes()
    lines = whole.splitlines()
    last = json.loads(lines[-1])
    last["payload"]["state"]["wins_total"] += 1
    path.write_bytes(b"\n".join([*lines[:-1], encode(Envelope.parse(last, "edited"))]) + b"\n")
    try:
        (difference,) = found(played, 2, capsys)
    finally:
        path.write_bytes(whole)
    assert "checkpoint" in difference
