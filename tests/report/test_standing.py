"""What is told of a decision while it is being measured for."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from selfimprove.cli.common import Where
from selfimprove.cli.status import _lines
from selfimprove.contracts.benchmark import Pair, Sample
from selfimprove.contracts.settings import Settings
from selfimprove.report.standing import under_way
from selfimprove.store.changes import changed
from selfimprove.store.state import Confirmation, State, TournamentState
from selfimprove.testing.records import Recorder, set_up, to_execution

TRIAL = {"direction": "lower_is_better", "stake": 0.035, "max_pairs": 12}


def pairs(scores: Sequence[tuple[float, float]]) -> list[Pair]:
    return [
        Pair(
            incumbent=Sample(score=before, duration_s=1.0),
            candidate=Sample(score=after, duration_s=1.0),
            candidate_first=bool(index % 2),
        )
        for index, (before, after) in enumerate(scores)
    ]


MIXED = pairs([(100.0, 90.0), (100.0, 91.0), (100.0, 89.0), (100.0, 101.0), (100.0, 92.0)])


@pytest.fixture
def record(tmp_path) -> Recorder:
    record = Recorder(tmp_path)
    record.add(set_up())
    record.add(to_execution(1))
    return record


def with_one(record: Recorder, **told) -> State:
    """The state while a candidate is tried, under settings of four closing pairs."""
    tried = Confirmation.parse(
        {"executor_id": "executor_1", "merge_commit": "c" * 40, "trial": TRIAL}, "a test"
    )
    assert record.state.round is not None
    tournament = TournamentState(confirmations=[changed(tried, **told)])
    settings = Settings.parse({"significance": {"closing_pairs": 4}}, "a test")
    current = changed(record.state.round, tournament=tournament)
    return changed(record.state, round=current, config=settings.document())


def test_pairs_estimate_and_what_is_needed(record) -> None:
    told = under_way(with_one(record, pairs=MIXED))
    assert told.startswith("executor_1: 5 of at most 12 pairs, 9% better so far (qualifying), p ")
    assert " at 4 pairs, " in told
    assert told.endswith("needed, next look at 6")


def test_before_the_first_pair(record) -> None:
    assert under_way(with_one(record)) == "executor_1: 0 of at most 12 pairs, next look at 4"


def test_closing_pairs_are_counted_and_what_they_say_is_not_told(record) -> None:
    told = under_way(with_one(record, pairs=MIXED, holds=True, closing=MIXED[:3]))
    assert told == "executor_1: it holds; closing pair 3 of 4"


def test_nothing_is_told_of_what_is_settled(record) -> None:
    assert under_way(with_one(record, holds=False)) == ""
    assert under_way(with_one(record, holds=True, commit="d" * 40)) == ""
    assert under_way(record.state) == ""


def test_the_runs_gain_is_told_as_it_is_measured(record) -> None:
    state = changed(with_one(record, holds=False), final_pairs=MIXED[:2])
    told = under_way(state)
    assert told == "the run's gain, first base against tip: fresh pair 2 of 4"


def test_status_has_the_line(record) -> None:
    state = with_one(record, pairs=MIXED)
    where = Where(record.layout.root, "default", None, None)
    lines = dict(_lines(state, record.layout, where, alive=True))
    assert lines["decision"] == under_way(state)
