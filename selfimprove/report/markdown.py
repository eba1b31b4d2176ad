"""Markdown made of other people's words: tables that line up, fences that hold; pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from selfimprove.report.plain import clean, one_line


def cell(text: str, width: int = 100) -> str:
    """Any text as one table cell."""
    return one_line(clean(text), width).replace("\\", "\\\\").replace("|", "\\|") or " "


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose columns also line up for those who read the source."""
    cells = [list(header), *([cell(text) for text in row] for row in rows)]
    widths = [max(3, *(len(row[column]) for row in cells)) for column in range(len(header))]
    lines = [_row(row, widths) for row in cells]
    return "\n".join([lines[0], _row(["-" * width for width in widths], widths), *lines[1:]])


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (text.ljust(width) for text, width in zip(cells, widths, strict=True))
    return f"| {' | '.join(padded)} |"


def fence(content: str) -> str:
    """Back-ticks enough that nothing in `content` closes the block."""
    longest = max((len(run) for run in re.findall(r"`+", content)), default=0)
    return "`" * max(3, longest + 1)
