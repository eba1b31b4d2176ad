"""The chart of a run: drawn by whoever imports this, best in a process of its own.

`python -m selfimprove.report.charts ROOT [PATH ...]` draws a root's chart; the loop starts that as
a child, because matplotlib is slow to import (it looks for fonts) and not for threads.
"""

from __future__ import annotations

import io
import sys
import textwrap
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from selfimprove.errors import UsageError, UserError
from selfimprove.report import gains, numbers
from selfimprove.report.chart_view import View, view_of
from selfimprove.report.data import Attempt, ScoreHistory
from selfimprove.store.files import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT, DPI = 10.0, 5.8, 160
"""1,600 x 928 pixels."""
# Okabe and Ito's colours, which stay apart for colour-blind readers; markers tell them apart again.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c6d1f", "#5b5b5b")
MARKERS = ("o", "s", "^", "D", "v", "P", "p", "h")
INK, FAINT, BEST, TARGET = "#222222", "#8a8a8a", "#1a1a1a", "#b5179e"
CHEAT = "#c1121f"
MANY = 1_000
"""Markers of a kind that are drawn as a picture in a .svg too: each is an element there."""
FEW = 6
"""Scores off the view that are written out."""
STYLE: dict[Any, Any] = {
    "font.size": 10,
    "text.parse_math": False,  # a metric may be called $cost
    "svg.hashsalt": "selfimprove",  # the same history draws the same bytes
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


def draw(history: ScoreHistory, paths: Sequence[Path]) -> None:
    """Draw a history to files, .png or .svg by their names, each replaced whole."""
    for path in paths:
        if path.suffix not in (".png", ".svg"):
            raise UsageError(f"{path}: a chart is a .png or a .svg", "give a name that ends so")
    import matplotlib as mpl

    with mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # a metric's name in any script
        drawn = figure(history)
        for path in paths:
            write_whole(path, _rendered(drawn, path.suffix[1:]))


def _rendered(drawn: Figure, kind: str) -> bytes:
    buffer = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else {}
    drawn.savefig(buffer, format=kind, dpi=DPI, metadata=metadata)
    return buffer.getvalue()


def figure(history: ScoreHistory) -> Figure:
    """The picture: scores above, failures on a strip at the bottom edge, families at the side."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(WIDTH, HEIGHT))
    FigureCanvasAgg(drawn)
    grid = drawn.add_gridspec(
        2, 1, height_ratios=[14, 1], hspace=0.04, left=0.085, right=0.815, top=0.87, bottom=0.09
    )
    scores = drawn.add_subplot(grid[0])
    strip = drawn.add_subplot(grid[1], sharex=scores)
    view = view_of(history)
    _levels(scores, history, view)
    _attempts(scores, history, view)
    _best(scores, history, view)
    _frame(scores, history, view)
    _failures(strip, history, view)
    _titles(drawn, history)
    _legend(drawn, scores)
    return drawn


def _look(history: ScoreHistory, family: str) -> tuple[str, str]:
    index = history.families.index(family)
    return COLOURS[index % len(COLOURS)], MARKERS[index % len(MARKERS)]


def _levels(axes: Axes, history: ScoreHistory, view: View) -> None:
    if history.baseline is not None:
        label = f"baseline {numbers.score(history.baseline, history.unit)}"
        axes.axhline(history.baseline, color=FAINT, lw=1.2, ls=(0, (1, 2)), label=label, zorder=1)
    if history.baseline_interval:
        axes.axhspan(*history.baseline_interval, color=FAINT, alpha=0.12, lw=0, zorder=0)
    if history.target is not None:
        label = f"target {numbers.score(history.target, history.unit)}"
        if view.shows(history.target):
            axes.axhline(history.target, color=TARGET, lw=1.4, ls=(0, (6, 3)), label=label)
        else:
            axes.plot(
                [], [], color=TARGET, lw=1.4, ls=(0, (6, 3)), label=f"{label}\n(off the view)"
            )


def _attempts(axes: Axes, history: ScoreHistory, view: View) -> None:
    from numpy import array

    for family in history.families:
        colour, marker = _look(history, family)
        shown = [
            (a, a.score) for a in history.attempts if a.family == family and a.score is not None
        ]
        for wins in (False, True):
            chosen = [(a, score) for a, score in shown if a.winner == wins]
            if not chosen:
                continue
            axes.scatter(
                array([view.x_of(a) for a, _ in chosen]),  # thousands, and lists are looked through
                array([view.inside(score) for _, score in chosen]),
                s=view.marker_size * (2.0 if wins else 1.0),
                marker=marker,
                facecolor=colour,
                edgecolor=INK if wins else "white",
                linewidth=1.3 if wins else 0.5,
                alpha=1.0 if wins else 0.75,
                zorder=5 if wins else 3,
                rasterized=len(chosen) > MANY,
            )
        _whiskers(axes, shown, view, colour)
        axes.scatter([], [], s=34, marker=marker, color=colour, label=_short(family))
    _outliers(axes, history, view)
    measured = [(a, a.score) for a in history.disqualified if a.score is not None]
    _disqualified(axes, [(view.x_of(a), view.inside(score)) for a, score in measured])
    if history.disqualified:
        axes.scatter([], [], s=44, marker="X", facecolor=CHEAT, label="disqualified")
    if any(attempt.winner for attempt in history.attempts):
        axes.scatter(
            [], [], s=60, marker="o", facecolor="white", edgecolor=INK, lw=1.3, label="merged"
        )
    if not history.exact and any(not each.winner for each in history.attempts):
        axes.plot([], [], ls="", label=f"(not merged:\n{gains.QUALIFYING} scores)")


def _whiskers(axes: Axes, shown: Sequence[tuple[Attempt, float]], view: View, colour: str) -> None:
    for attempt, score in shown:
        if attempt.interval and view.shows(score):
            low, high = attempt.interval
            axes.vlines(view.x_of(attempt), low, high, color=colour, lw=1, alpha=0.6, zorder=2)


def _outliers(axes: Axes, history: ScoreHistory, view: View) -> None:
    """Scores far off stand at the edge with an arrow, and with their value while they are few."""
    far = [
        (a, a.score) for a in history.attempts if a.score is not None and not view.shows(a.score)
    ]
    for attempt, score in far:
        above = score > view.high
        arrow = "↑" if above else "↓"
        axes.annotate(
            f"{arrow} {numbers.score(score)}" if len(far) <= FEW else arrow,
            (view.x_of(attempt), view.inside(score)),
            xytext=(0, -7 if above else 7),
            textcoords="offset points",
            ha="center",
            va="top" if above else "bottom",
            fontsize=7.5,
            color=INK,
            zorder=6,
        )


def _best(axes: Axes, history: ScoreHistory, view: View) -> None:
    if not history.best:
        return
    x = [view.x_of_best(point) for point in history.best]
    y = [point.score for point in history.best]
    end = max(float(history.last_round), x[-1])
    axes.step(
        [*x, end + 0.4], [*y, y[-1]], where="post", color=BEST, lw=2.2, zorder=4, label="best"
    )
    sure = [(point, point.interval) for point in history.best if point.interval]
    if sure:
        axes.errorbar(
            [view.x_of_best(point) for point, _ in sure],
            [point.score for point, _ in sure],
            yerr=[
                [max(point.score - low, 0.0) for point, (low, _) in sure],
                [max(high - point.score, 0.0) for point, (_, high) in sure],
            ],
            fmt="none",
            ecolor=BEST,
            elinewidth=1.4,
            capsize=3.5,
            zorder=6,
            label="interval",
        )


def _frame(axes: Axes, history: ScoreHistory, view: View) -> None:
    axes.set_ylim(view.low, view.high)
    axes.set_xlim(-0.5, max(history.last_round, 1) + 0.5)
    axes.grid(axis="y", color="#e6e6e6", lw=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(axis="x", length=0, labelbottom=False)
    axes.spines["bottom"].set_visible(False)
    name = textwrap.shorten(history.metric, 60, placeholder="…")
    axes.set_ylabel(f"{name} ({history.unit})" if history.unit else name, fontsize=11)
    lower = history.direction == "lower_is_better"
    axes.text(
        0.008,
        0.015 if lower else 0.985,
        "↓ lower is better" if lower else "↑ higher is better",
        transform=axes.transAxes,
        ha="left",
        va="bottom" if lower else "top",
        fontsize=9,
        color=INK,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5, "alpha": 0.8},
        zorder=8,
    )


def _failures(axes: Axes, history: ScoreHistory, view: View) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_facecolor("#f4f1ef")
    axes.set_ylim(0, 1)
    axes.set_yticks([0.5], ["failed"])
    axes.tick_params(axis="y", length=0, labelsize=9)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=14))
    axes.set_xlabel("round")
    for attempt in history.failed:
        if attempt.disqualified:
            continue
        colour, _ = _look(history, attempt.family)
        axes.scatter(
            view.x_of(attempt), 0.5, s=view.marker_size, marker="x", color=colour, linewidth=1.8
        )
    _disqualified(axes, [(view.x_of(a), 0.5) for a in history.disqualified if a.score is None])


def _disqualified(axes: Axes, places: Sequence[tuple[float, float]]) -> None:
    """Marked apart from what failed: these moved the number, or were too good to be true."""
    for x, y in places:
        axes.scatter(x, y, s=44, marker="X", facecolor=CHEAT, edgecolor="white", lw=0.6, zorder=7)


def _titles(drawn: Figure, history: ScoreHistory) -> None:
    title = textwrap.shorten(history.title or history.metric, 90, placeholder="…")
    drawn.text(0.085, 0.945, title, fontsize=13, fontweight="bold", color=INK, va="center")
    drawn.text(0.085, 0.9, _outcome(history), fontsize=10, color="#555555", va="center")


def _outcome(history: ScoreHistory) -> str:
    parts = []
    told = history.gain
    if told is not None:
        words = f"{numbers.estimated_in_words(told)} in {numbers.count(told.pairs, 'fresh pair')}"
        base = gains.base_score(told, history.direction)
        before = f"{numbers.score(base)} → {numbers.score(told.score, history.unit)}, "
        parts.append(f"{before if base is not None else ''}{words}")
    elif history.baseline is not None and history.final is not None:
        words = numbers.gain_in_words(history.baseline, history.final, history.direction)
        before = "" if len(history.best) == 1 else f"{numbers.score(history.baseline)} → "
        parts.append(f"{before}{numbers.score(history.final, history.unit)}, {words}")
    parts.append(numbers.count(history.last_round, "round"))
    parts.append(numbers.count(len(history.attempts), "candidate"))
    if failed := [each for each in history.failed if not each.disqualified]:
        parts.append(f"{len(failed)} failed")
    if history.disqualified:
        parts.append(f"{len(history.disqualified)} disqualified")
    return "   ·   ".join(parts)


def _legend(drawn: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        drawn.legend(
            handles,
            labels,
            loc="upper left",
            bbox_to_anchor=(0.822, 0.88),
            frameon=False,
            fontsize=9,
        )


def _short(family: str) -> str:
    return family if len(family) <= 17 else f"{family[:16]}…"


def main(arguments: Sequence[str]) -> int:
    """Draw the chart of a root; to `tracking/progress.png` where no path is given."""
    from selfimprove.report.sources import load_history
    from selfimprove.store.layout import Layout

    root = Path(arguments[0])
    paths = [Path(name) for name in arguments[1:]] or [root / "tracking/progress.png"]
    try:
        draw(load_history(Layout(root)), paths)
    except UserError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
