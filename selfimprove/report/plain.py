"""Text of others (agents, benchmarks, file names) made safe and short for a terminal; pure."""

from __future__ import annotations

import re

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)", re.DOTALL)


def clean(text: str) -> str:
    """No control characters but new lines and tabs, no half surrogates, no direction overrides."""
    text = _ESCAPES.sub("", text)
    return "".join(
        character
        for character in text
        if character in "\n\t"
        or (character.isprintable() and not "\u202a" <= character <= "\u202e")
        or character in "\u200c\u200d"
    )


def one_line(text: str, width: int) -> str:
    """White space folded, cut to `width` characters with an ellipsis."""
    folded = " ".join(text.split())
    return folded if len(folded) <= width else folded[: width - 1].rstrip() + "…"
