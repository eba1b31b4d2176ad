"""Scores, gains, times and money as people read them; pure."""

from __future__ import annotations

import math
from datetime import datetime

from selfimprove.bench.effects import in_scores
from selfimprove.bench.stats import NEAR_ZERO, better, relative_gain
from selfimprove.contracts.base import Direction
from selfimprove.contracts.significance import Estimate

NOTHING = "–"
"""Stands where nothing was measured."""
_DIGITS = 5


def score(value: float | None, unit: str = "") -> str:
    """A score in five digits: `142.3 ms`, `1,234,567`, `1.2e-07`; a dash where there is none."""
    if value is None:
        return NOTHING
    return f"{_number(value)} {unit}".rstrip()


def _number(value: float) -> str:
    size = abs(value)
    if value == int(value) and size < 1e9:
        return f"{int(value):,}"
    if size >= 1e9 or size < 1e-4:
        mantissa, _, exponent = f"{value:.{_DIGITS - 1}e}".partition("e")
        return f"{mantissa.rstrip('0').rstrip('.')}e{exponent}"
    decimals = max(0, _DIGITS - 1 - math.floor(math.log10(size)))
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def size(bytes_: int) -> str:
    """`412 B`, `3.1 kB`, `2.7 GB`."""
    value, unit = float(bytes_), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"


def interval(bounds: tuple[float, float] | None, unit: str = "") -> str:
    """`118.2 to 119.1 ms`, or nothing."""
    if bounds is None:
        return ""
    return f"{score(bounds[0])} to {score(bounds[1], unit)}"


def gain(before: float | None, after: float | None, direction: Direction) -> float | None:
    """The relative gain, positive where `after` is better; None where it has no meaning."""
    if before is None or after is None or abs(before) <= NEAR_ZERO:
        return None
    return relative_gain(before, after, direction)


def gain_in_words(before: float | None, after: float | None, direction: Direction) -> str:
    """`16.6% better`, `3.2% worse`, `unchanged`; in the metric's own unit where before is 0."""
    if before is None or after is None:
        return NOTHING
    if before == after:
        return "unchanged"
    word = "better" if better(before, after, direction) else "worse"
    relative = gain(before, after, direction)
    if relative is None:
        return f"{score(abs(after - before))} {word}"
    return f"{percent(abs(relative))} {word}"


def percent(fraction: float) -> str:
    """`16.6%`, `0.042%`, `1,250%`: three digits that count."""
    value = fraction * 100
    if value == 0:
        return "0%"
    if abs(value) >= 1000:
        return f"{value:,.0f}%"
    if abs(value) < 1e-4:
        return f"{value:.0e}%"
    decimals = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:.{decimals}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) + "%"


def estimated(found: Estimate) -> str:
    """`30.6% [16.5%, 42.4%]`: a gain and the interval that holds it.

    In the score's own unit where scores lie around zero: `1.01 [0.98, 1.04]`.
    """
    gain, bounds = _told(found, signed=True)
    return f"{gain} {bounds}"


def estimated_in_words(found: Estimate) -> str:
    """`30.6% better [16.5%, 42.4%]`: the same, as it stands beside scores."""
    gain, bounds = _told(found, signed=False)
    return f"{gain} {'better' if found.gain >= 0 else 'worse'} {bounds}"


def _told(found: Estimate, *, signed: bool) -> tuple[str, str]:
    plain = in_scores(found)
    gain, low, high = plain or (found.gain, found.low, found.high)
    words = score if plain else percent
    return words(gain if signed else abs(gain)), f"[{words(low)}, {words(high)}]"


def duration(seconds: float) -> str:
    """`0.4 s`, `12 s`, `2 min 05 s`, `1 h 12 min`."""
    if seconds < 10:
        return f"{max(seconds, 0.0):.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def money(usd: float) -> str:
    """`$0.42`; four digits below a cent."""
    return f"${usd:,.2f}" if usd >= 0.01 or usd == 0 else f"${usd:.4f}"


def count(number: int, noun: str, plural: str = "") -> str:
    """`1 round`, `3 rounds`, `1,200 rounds`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def since(timestamp: str, now: datetime) -> float:
    """Seconds from an ISO time stamp to `now`, never negative."""
    return max(0.0, (now - datetime.fromisoformat(timestamp)).total_seconds())
