"""The drawing: what is in the picture, read from its SVG and its PNG header."""

from __future__ import annotations

import struct
import subprocess
import sys

import matplotlib as mpl
import pytest

from selfimprove.contracts.tracking import RawDataRow
from selfimprove.errors import UsageError
from selfimprove.report.charts import STYLE, draw, figure
from selfimprove.report.data import Subject, score_history
from selfimprove.testing.records import a_baseline, finished


def history(direction="lower_is_better", metric="p95 of $orders", far: float | None = None):
    rows = [
        RawDataRow(
            iteration=number,
            plan_id=f"round_{number}_planner_{letter}",
            benchmark_score=score,
            is_winner=won,
            approach_family=family,
        )
        for number, letter, score, won, family in [
            (1, "a", 120.0, True, "data"),
            (1, "b", None, False, "optimization"),
            (2, "a", 131.0, False, "my own family of changes"),
            (2, "b", far, False, "data"),
        ]
    ]
    return score_history(
        Subject(metric, direction, 100.0, "Faster", "ms"), rows, a_baseline(140.0, (139.0, 141.0))
    )


def words(drawn) -> str:
    with mpl.rc_context(STYLE):
        texts = [text.get_text() for axes in drawn.axes for text in axes.texts]
        texts += [axes.get_ylabel() for axes in drawn.axes]
        texts += [text.get_text() for text in drawn.texts]
        texts += [text.get_text() for legend in drawn.legends for text in legend.get_texts()]
    return "\n".join(texts)


def test_the_picture_says_what_it_shows() -> None:
    told = words(figure(history()))
    for part in (
        "p95 of $orders (ms)", "↓ lower is better", "baseline 140 ms", "target 100 ms", "best",
        "merged", "data", "optimization", "my own family of…", "140 → 120 ms, 14.3% better",
        "2 rounds", "4 candidates", "2 failed",
    ):  # fmt: skip
        assert part in told


def test_the_label_follows_the_direction() -> None:
    assert "↑ higher is better" in words(figure(history("higher_is_better")))


def test_failures_are_marked_on_the_strip_and_nowhere_else() -> None:
    scores, strip = figure(history()).axes
    assert len(strip.collections) == 2
    assert strip.get_position().y1 <= scores.get_position().y0
    assert strip.get_yticklabels()[0].get_text() == "failed"


def test_a_score_far_off_is_told_at_the_edge() -> None:
    assert "↑ 90,000" in words(figure(history(far=90_000.0)))


def test_png_is_1600_wide_and_svg_is_the_same_bytes_again(tmp_path) -> None:
    first, again, png = tmp_path / "a.svg", tmp_path / "b.svg", tmp_path / "a.png"
    draw(history(), [first, png])
    draw(history(), [again])
    assert first.read_bytes() == again.read_bytes()
    width, height = struct.unpack(">II", png.read_bytes()[16:24])
    assert (width, height) == (1600, 928)


@pytest.mark.long
def test_a_metric_in_any_script_draws_without_a_warning(tmp_path) -> None:
    draw(history(metric="延迟 $\\frac{1}"), [tmp_path / "a.png"])


def test_another_kind_of_file_is_refused_before_anything_is_drawn(tmp_path) -> None:
    with pytest.raises(UsageError, match=r"\.jpg"):
        draw(history(), [tmp_path / "a.png", tmp_path / "a.jpg"])
    assert list(tmp_path.iterdir()) == []


def test_an_empty_history_draws(tmp_path) -> None:
    draw(score_history(Subject("score", "higher_is_better"), []), [tmp_path / "a.svg"])


def test_a_child_process_draws_a_root(tmp_path) -> None:
    root = finished(tmp_path / "root").layout.root
    words = [sys.executable, "-m", "selfimprove.report.charts", str(root)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (root / "tracking/progress.png").read_bytes().startswith(b"\x89PNG")


def test_a_child_process_says_in_one_line_why_it_cannot(tmp_path) -> None:
    words = [sys.executable, "-m", "selfimprove.report.charts", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
