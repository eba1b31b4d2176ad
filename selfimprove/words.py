"""Numbers, durations, directions and yes/no as a person writes them; pure."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from selfimprove.contracts.base import Direction

Bound = Literal["<", "<=", ">", ">="]

NOTHING = frozenset({"", "-", "–", "—", "none", "n/a", "na", "nothing", "null", "no", "not set"})
"""Ways of leaving a line empty on purpose."""

_LOWER = {
    "lower", "low", "lowest", "minimize", "minimise", "minimum", "min", "down", "decrease",
    "reduce", "smaller", "smallest", "less", "fewer", "fewest", "shorter", "shortest", "↓",
}  # fmt: skip
_HIGHER = {
    "higher", "high", "highest", "maximize", "maximise", "maximum", "max", "up", "increase",
    "raise", "larger", "largest", "more", "bigger", "biggest", "greater", "greatest", "↑",
}  # fmt: skip
_BOUNDS: dict[str, Bound] = {
    "<": "<", "<=": "<=", "=<": "<=", "≤": "<=", "⩽": "<=",
    ">": ">", ">=": ">=", "=>": ">=", "≥": ">=", "⩾": ">=",
    "below": "<", "under": "<", "less than": "<", "lower than": "<", "fewer than": "<",
    "at most": "<=", "no more than": "<=", "not more than": "<=", "up to": "<=", "max": "<=",
    "above": ">", "over": ">", "more than": ">", "higher than": ">", "greater than": ">",
    "at least": ">=", "no less than": ">=", "not less than": ">=", "min": ">=",
}  # fmt: skip
_NUMBER = r"[+-]?(?:\d{1,3}(?:[,_]\d{3})+|\d+)?(?:\.\d+)?(?:[eE][+-]?\d+)?"
_QUANTITY = re.compile(
    rf"(?P<bound>{'|'.join(sorted(map(re.escape, _BOUNDS), key=len, reverse=True))}|=|~)?\s*"
    rf"(?P<number>{_NUMBER})(?P<scale>(?-i:[kM])(?![^\W\d]))?\s*(?P<unit>.*)",
    re.IGNORECASE | re.DOTALL,
)
_UNIT = re.compile(r"[^\d\W][^\d<>=,;]{0,39}|%|°C?|")
_SCALES = {"k": 1e3, "M": 1e6}
_SECONDS = {"ms": 1e-3, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_DURATION_PART = re.compile(
    r"(\d+(?:\.\d+)?|\.\d+)\s*"
    r"(milliseconds?|millis|msecs?|ms|minutes?|mins?|m|seconds?|secs?|s|hours?|hrs?|h"
    r"|days?|d|weeks?|w)(?![a-z])[\s,]*(?:and\s+)?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Quantity:
    """A number, on which side of it one wants to be, and its unit."""

    value: float
    unit: str = ""
    bound: Bound | None = None

    @property
    def direction(self) -> Direction | None:
        """The direction that the comparison implies: `< 120` wants lower."""
        if self.bound is None:
            return None
        return "lower_is_better" if self.bound.startswith("<") else "higher_is_better"


def number(text: str) -> float | None:
    """Read `1,000`, `1_000`, `-3.5e2`; None for anything else, infinities and `1,5` included."""
    cleaned = text.strip().replace("−", "-")  # the typographic minus
    if not any(map(str.isdigit, cleaned)) or not re.fullmatch(_NUMBER, cleaned, re.ASCII):
        return None
    value = float(cleaned.replace(",", "").replace("_", ""))
    return value if math.isfinite(value) else None


def quantity(text: str) -> Quantity | None:
    """Read `< 120 ms`, `at least 0.98`, `10k req/s`; None when not understood."""
    plain = re.sub(r"\s*\([^()]*\)\s*$", "", text.strip()).rstrip(".").replace("−", "-")
    found = _QUANTITY.fullmatch(plain)
    if not found or not _UNIT.fullmatch(unit := found["unit"].strip()):
        return None
    value = number(found["number"])
    if value is None:
        return None
    value *= _SCALES.get(found["scale"] or "", 1)
    word = re.sub(r"\s+", " ", (found["bound"] or "").lower())
    return Quantity(value, unit, _BOUNDS.get(word))


def duration(text: str) -> float | None:
    """Read `20m`, `1h 30min`, `500 ms`, `00:20:00`, `90` (seconds) as seconds; None if not one."""
    plain = text.strip().lower()
    bare = number(plain)
    if bare is not None:
        return bare if bare > 0 else None
    if clock := re.fullmatch(r"(\d{1,3}):([0-5]\d):([0-5]\d)", plain):
        hours, minutes, seconds = map(int, clock.groups())
        return float(hours * 3600 + minutes * 60 + seconds) or None
    at, total = 0, 0.0
    while at < len(plain):
        part = _DURATION_PART.match(plain, at)
        if not part:
            return None
        unit = "ms" if part[2].startswith(("ms", "milli")) else part[2][0]
        total += float(part[1]) * _SECONDS[unit]
        at = part.end()
    return total if total > 0 and math.isfinite(total) else None


def direction(text: str) -> Direction | None:
    """Read `lower`, `minimize`, `higher_is_better`, `↑`; None when it says neither or both."""
    found = set(re.findall(r"[a-z]+|[↑↓]", text.lower().replace("_", " ")))
    lower, higher = bool(found & _LOWER), bool(found & _HIGHER)
    if lower == higher or "not" in found:
        return None
    return "lower_is_better" if lower else "higher_is_better"


def fraction(text: str) -> float | None:
    """Read `5%` or `0.05` as 0.05; None when it is neither, or negative."""
    plain = text.strip()
    value = number(plain.removesuffix("%"))
    if value is None or value < 0:
        return None
    return value / 100 if plain.endswith("%") else value


def in_words(better: Direction) -> str:
    """`lower` or `higher`."""
    return better.partition("_")[0]


def reached(value: float, target: float, better: Direction) -> bool:
    """Whether `value` is at or past `target` in the metric's direction."""
    return value <= target if better == "lower_is_better" else value >= target


def moment(text: str, now: datetime) -> datetime | None:
    """Read `07:30` as its next occurrence after `now`, or `2026-11-22 07:30`; None if neither."""
    plain = text.strip()
    if clock := re.fullmatch(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?", plain):
        hour, minute, second = (int(part or 0) for part in clock.groups())
        at = now.replace(hour=hour, minute=minute, second=second, microsecond=0)
        return at if at > now else at + timedelta(days=1)
    try:
        at = datetime.fromisoformat(plain)
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=now.tzinfo)
