"""One run, one gain: the reported one stands wherever a gain is told, with its interval."""

from __future__ import annotations

import pytest

from selfimprove.cli.common import Where
from selfimprove.cli.status import _lines
from selfimprove.contracts.benchmark import Sample
from selfimprove.contracts.significance import Estimate
from selfimprove.report import gains
from selfimprove.report.charts import figure
from selfimprove.report.decision import explained
from selfimprove.report.sources import load_history, read_reports
from selfimprove.report.summary import Sources, render
from selfimprove.store.changes import changed
from selfimprove.testing.records import Recorder, a_baseline, finished

FINAL = Estimate(
    scale="ratio", pairs=8, level=0.95, gain=0.25, low=0.2, high=0.3,
    score=105.0, score_low=104.0, score_high=106.0,
)  # fmt: skip


@pytest.fixture
def measured(tmp_path) -> Recorder:
    """A run of two merges whose gain was measured once more: 25%, where scores say 19%."""
    record = finished(tmp_path)
    state = record.state
    assert state.incumbent is not None
    record.state = changed(state, final=FINAL, final_of=state.incumbent.commit)
    return record


def test_the_summary_begins_with_the_reported_gain_and_tells_no_other(measured, tmp_path) -> None:
    text = render(Sources(measured.state, tmp_path, reports=read_reports(measured.layout)))
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert rows[2].startswith("| gain of the run ")
    assert [cell.strip() for cell in rows[2].split("|")[2:5]] == [
        "140", "105", "25% better [20%, 30%]",
    ]  # fmt: skip
    assert rows[3].startswith("| stored score ")
    assert rows[4].startswith("| interval ")
    assert "19% better" not in text
    assert "in 8 fresh pairs measured at the stop" in text


def test_the_chart_the_view_and_status_tell_the_same(measured) -> None:
    history = load_history(measured.layout, measured.state)
    told = [text.get_text() for text in figure(history).texts]
    assert any("140 → 105, 25% better [20%, 30%] in 8 fresh pairs" in line for line in told)
    assert measured.state.facts is not None
    assert gains.against_baseline(measured.state) == "25% better [20%, 30%]"
    where = Where(measured.layout.root, "default", None, None)
    lines = dict(_lines(measured.state, measured.layout, where, alive=False))
    assert lines["best"] == "115.26 (stored)"
    assert lines["gain"] == "25% better [20%, 30%] in 8 fresh pairs, first base against tip"


def test_a_gain_measured_for_another_tip_is_not_told(measured) -> None:
    assert gains.reported(changed(measured.state, final_of="0" * 40)) is None


def test_the_base_is_known_only_where_ratios_were_compared() -> None:
    assert gains.base_score(FINAL, "lower_is_better") == pytest.approx(140.0)
    assert gains.base_score(FINAL, "higher_is_better") == pytest.approx(84.0)
    assert gains.base_score(changed(FINAL, scale="difference"), "lower_is_better") is None


def test_runs_give_a_stored_score_its_interval_and_equal_runs_none() -> None:
    measurement = a_baseline(100.0).measurement
    assert gains.measured_interval(measurement) is None
    runs = [Sample(score=score, duration_s=1.0) for score in (99.0, 100.0, 101.0)]
    found = gains.measured_interval(changed(measurement, samples=runs))
    assert found is not None
    assert found[0] < 99.0 < 101.0 < found[1]
    equal = [Sample(score=5.0, duration_s=1.0)] * 3
    assert gains.measured_interval(changed(measurement, samples=equal)) is None


def test_merges_have_error_bars(tmp_path) -> None:
    history = load_history(finished(tmp_path).layout)
    bars = figure(history).axes[0].containers
    assert [len(bar[2][0].get_segments()) for bar in bars] == [3]  # the baseline and two merges


def test_a_merge_of_deciding_pairs_alone_is_marked(tmp_path) -> None:
    record = finished(tmp_path, 1)
    report = read_reports(record.layout)[0]
    assert record.state.round is not None
    tried = [each.document() for each in record.state.round.tournament.confirmations]
    report = changed(report, evidence={"confirmations": tried})
    assert "qualifying: of the pairs that decided" in "\n".join(explained(report))
    text = render(Sources(record.state, tmp_path, reports=[report]))
    assert "128.07 (qualifying)" in text
