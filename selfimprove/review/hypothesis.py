"""H001: does a text hold exactly one hypothesis? Conservative: in doubt it is one.

What counts as several: a list of them, numbered hypotheses, `; and also`, or more than one
sentence that predicts an improvement from something other than the sentence before it.
"""

from __future__ import annotations

import re

LOOKED_AT = 4000
"""Characters; a longer hypothesis is refused for its length."""

_EMPTY = frozenset({"", "none", "n/a", "na", "tbd", "todo", "null", "unknown", "nothing"})
_BULLET = re.compile(r"^[ \t]*(?:[-*•]|\(?\d{1,2}[.)]|\(?[a-hA-H]\))[ \t]+\S", re.M)
_INLINE = re.compile(r"(?:^|[\s;,:])\(?([1-9])[.)]\s+\S")
_NUMBERED = re.compile(r"\b(?:hypothesis\s*#?|H(?=[1-9]:))([1-9])\b", re.I)
_AND_ALSO = re.compile(
    r"[;.]\s*(?:and\s+also|additionally|in addition|separately|secondly|second hypothesis)\b", re.I
)
_CLAUSE = re.compile(r"(?<=[.!?])\s+|[;\n]\s*")
_AND = re.compile(r",?\s+(?:and|plus|as well as)\s+(?:also\s+)?", re.I)
_GAIN = (
    r"(?:improv|reduc|increas|speed|lower|rais|cut|decreas|boost|sav|shorten|accelerat|shrink|help)"
)
_PREDICTS = re.compile(
    rf"^(?P<subject>.{{1,300}}?)\s+(?:should|will|would|could|might|may)\s+(?:\w+\s+)?{_GAIN}", re.I
)
_SAME_SUBJECT = re.compile(
    r"^(?:and\s+|so\s+|but\s+|then\s+)?(?:it|this|that|these|those|they|which|we|the\s+(?:change|"
    r"result|effect|gain|benefit|improvement|saving|new|same)|thus|hence|therefore|because|since|"
    r"as\s+a\s+result|so|overall|together|both)\b",
    re.I,
)
_ACTION = re.compile(
    r"^(?:[a-z]+ing|use|replace|add|remove|cache|move|change|set|switch|raise|lower|inline|sort)\b",
    re.I,
)


def count_hypotheses(text: str) -> int:
    """Count the hypotheses in a text: 0, 1, or how many signs of several there are."""
    looked_at = text[:LOOKED_AT].strip()
    if looked_at.strip(" .!?-_*#").casefold() in _EMPTY or not re.search(r"\w", looked_at):
        return 0
    signs = (
        len(_BULLET.findall(looked_at)),
        _consecutive(_INLINE.findall(looked_at)),
        len(set(_NUMBERED.findall(looked_at))),
        1 + len(_AND_ALSO.findall(looked_at)),
        _predictions(looked_at),
    )
    return max(1, *signs)


def _consecutive(numbers: list[str]) -> int:
    """How far 1, 2, 3 … are counted in order, so that a lone `2)` in a formula is no list."""
    count = 0
    for number in numbers:
        if int(number) == count + 1:
            count += 1
    return count


def _predictions(text: str) -> int:
    """Count clauses that predict a gain from an action of their own."""
    count = 0
    for clause in _CLAUSE.split(text):
        for position, part in enumerate(_AND.split(clause)):
            predicts = _PREDICTS.match(part.strip())
            if predicts is None or _SAME_SUBJECT.match(predicts["subject"]):
                continue
            # "X and Y should help" is one; "X should help and doing Y should help" are two.
            if position and count and not _ACTION.match(predicts["subject"]):
                continue
            count += 1
    return count
