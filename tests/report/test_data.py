from __future__ import annotations

import pytest

from selfimprove.contracts.tracking import RawDataRow, TrackedEvent
from selfimprove.report.chart_view import view_of
from selfimprove.report.data import BestPoint, Extras, ScoreHistory, Subject, score_history
from selfimprove.report.sources import load_history, read_reports
from selfimprove.testing.records import a_baseline, finished

SUBJECT = Subject("total_ms", "lower_is_better", target=100.0)


def row(iteration: int, letter: str, score: float | None, winner: bool = False, family="data"):
    return RawDataRow(
        iteration=iteration,
        plan_id=f"round_{iteration}_planner_{letter}",
        benchmark_score=score,
        is_winner=winner,
        approach_family=family,
    )


def test_a_root_becomes_a_history(tmp_path) -> None:
    history = load_history(finished(tmp_path).layout)
    assert (history.metric, history.baseline, history.target) == ("total_ms", 142.3, 100.0)
    assert history.best == (
        BestPoint(0, 142.3, (141.0, 143.5)),
        BestPoint(1, 128.07, (127.07, 129.07)),
        BestPoint(2, 115.26, (114.26, 116.26)),
    )
    assert [(a.plan_id, a.score, a.winner) for a in history.attempts[:2]] == [
        ("round_1_planner_a", 128.07, True),
        ("round_1_planner_b", None, False),
    ]
    assert len(history.failed) == 2
    assert history.families == ("data", "optimization")
    assert history.last_round == 2


def test_rows_alone_give_the_best_of_each_round() -> None:
    rows = [row(1, "a", 120.0, True), row(1, "b", 110.0, True), row(2, "a", 130.0)]
    history = score_history(SUBJECT, rows, a_baseline(140.0))
    assert [(p.iteration, p.score) for p in history.best] == [(0, 140.0), (1, 110.0)]


def test_a_merge_report_has_the_last_word_on_its_round(tmp_path) -> None:
    report = read_reports(finished(tmp_path, 1).layout)[0]
    history = score_history(SUBJECT, [row(1, "a", 1.0, True)], a_baseline(140.0), [report])
    assert history.final == 128.07


def test_a_retraction_moves_the_best_score_back() -> None:
    event = TrackedEvent(
        timestamp="t",
        event_type="config_change",
        iteration=2,
        details={"field": "improvement_branch", "score": 140.0},
    )
    rows = [row(1, "a", 120.0, True)]
    history = score_history(SUBJECT, rows, a_baseline(140.0), extras=Extras(events=(event,)))
    assert [point.score for point in history.best] == [140.0, 120.0, 140.0]


def test_families_stand_in_the_order_of_the_taxonomy_then_by_name() -> None:
    families = ["zebra", "other", "cache", "architecture"]
    rows = [row(1, letter, 1.0, family=f) for letter, f in zip("abcd", families, strict=True)]
    assert score_history(SUBJECT, rows).families == ("architecture", "other", "cache", "zebra")


def test_nothing_at_all_is_a_history_too() -> None:
    history = score_history(SUBJECT, [])
    assert (history.last_round, history.final, history.best) == (0, None, ())
    view = view_of(history)
    assert view.low < view.high


def history_of(*scores: float | None, target: float | None = None) -> ScoreHistory:
    rows = [row(n, "a", score) for n, score in enumerate(scores, 1)]
    return score_history(Subject("x", "lower_is_better", target), rows, a_baseline(100.0))


def test_the_view_takes_in_what_is_near_and_puts_the_far_at_its_edge() -> None:
    view = view_of(history_of(98.0, 103.0, 105.0, 101.0, 99.0, 96.0, 104.0, 102.0, 97.0, 5000.0))
    assert view.shows(105.0)
    assert not view.shows(5000.0)
    assert view.low < view.inside(5000.0) < view.high


@pytest.mark.parametrize("target", [90.0, 98.0])
def test_a_target_near_by_is_in_the_view(target) -> None:
    assert view_of(history_of(95.0, 105.0, 94.0, target=target)).shows(target)


def test_a_target_far_off_does_not_squash_the_view() -> None:
    assert not view_of(history_of(99.0, 101.0, target=1.0)).shows(1.0)


@pytest.mark.parametrize("score", [0.0, -5.0, 1e-300, 1e300, 100.0])
def test_any_scores_give_a_view_with_room(score) -> None:
    view = view_of(history_of(score, score))
    assert view.low < view.high


def test_candidates_of_a_round_stand_side_by_side() -> None:
    rows = [row(1, letter, 1.0) for letter in "abcde"] + [row(2, "a", 1.0)]
    history = score_history(SUBJECT, rows)
    view = view_of(history)
    places = [view.x_of(attempt) for attempt in history.attempts]
    assert places[:5] == sorted(set(places[:5]))
    assert all(0.6 < x < 1.4 for x in places[:5])
    assert places[5] == 2
