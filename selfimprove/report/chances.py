"""How sure planners were and how often they were right, for a person; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from selfimprove.report import numbers
from selfimprove.report.markdown import table

SHOWN = 20
"""Planners and families that are listed; those that were tried most."""
HEADER = (
    "who",
    "carried out",
    "sure of a win",
    "won",
    "Brier score",
    "gain said",
    "gain measured",
    "assertions that held",
)
WORDS = (
    "Of the plans that were carried out: how sure of a win they said they were, the share that "
    "won, the gain they named beside the one that was measured (medians), and how much of what "
    "they asserted was true. The Brier score is the mean squared distance between what was said "
    "and what came: 0 is perfect, and who always says one half gets 0.25."
)


def told(found: Sequence[Mapping[str, Any]]) -> str:
    """Calibrations, as `review.calibration` gives them, as a table with its explanation.

    Empty where no plan said how sure it was, or asserted anything.
    """
    if not found:
        return ""
    most = sorted(found, key=lambda each: -each["tried"])[:SHOWN]
    rows = [_row(each) for each in found if each in most]
    return f"{WORDS}\n\n{table(HEADER, rows)}"


def _row(each: Mapping[str, Any]) -> list[str]:
    return [
        each["who"],
        f"{each['tried']:,}",
        _share(each, "confidence"),
        _share(each, "won"),
        f"{each['brier']:.2f}" if "brier" in each else numbers.NOTHING,
        each.get("predicted", numbers.NOTHING),
        each.get("measured", numbers.NOTHING),
        f"{_share(each, 'held')} of {each['asserted']:,}" if "held" in each else numbers.NOTHING,
    ]


def _share(each: Mapping[str, Any], name: str) -> str:
    return f"{each[name]:.0%}" if name in each else numbers.NOTHING
