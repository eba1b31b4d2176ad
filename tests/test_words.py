from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfimprove.words import Quantity, direction, duration, fraction, number, quantity

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(finite)
def test_every_float_is_read_back(value: float) -> None:
    assert number(repr(value)) == value
    found = quantity(f"< {value!r} ms")
    assert found == Quantity(value, "ms", "<")


@given(st.integers(min_value=-(10**15), max_value=10**15))
def test_grouped_integers(value: int) -> None:
    assert number(f"{value:,}") == value
    assert number(f"{value:_}") == value


@given(st.text())
def test_no_text_upsets_the_readers(text: str) -> None:
    for value in (number(text), duration(text), fraction(text)):
        assert value is None or math.isfinite(value)
    quantity(text)
    direction(text)


@given(st.integers(0, 99), st.integers(0, 59), st.integers(0, 59))
def test_durations_add_up(hours: int, minutes: int, seconds: int) -> None:
    total = float(3600 * hours + 60 * minutes + seconds) or None
    assert duration(f"{hours}h {minutes}min {seconds}s") == total
    assert duration(f"{hours:02}:{minutes:02}:{seconds:02}") == total
    assert duration(f"{hours} hours, {minutes} minutes and {seconds} seconds") == total


@pytest.mark.parametrize(
    "text", ["1,5", "1,00", "12,3456", "", "-", "nan", "inf", "1e999", "٣", "0x10"]
)
def test_what_is_no_number(text: str) -> None:
    assert number(text) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("< 120 ms", Quantity(120, "ms", "<")),
        ("≥0.98", Quantity(0.98, "", ">=")),
        ("at most 1,000 req/s", Quantity(1000, "req/s", "<=")),
        ("more than 10k ops/s.", Quantity(10_000, "ops/s", ">")),
        ("120 ms (p95, warm)", Quantity(120, "ms")),
        ("5 m", Quantity(5, "m")),
        ("-3", Quantity(-3)),
        ("120 or 130", None),
        ("10% faster than today", None),
        ("fast", None),
    ],
)
def test_quantities(text: str, value: Quantity | None) -> None:
    assert quantity(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [("20m", 1200), ("500 ms", 0.5), ("90", 90), ("1.5h", 5400), ("1 day", 86400)]
    + [(bad, None) for bad in ("0", "-5", "soon", "1 month", "5 m 3", "", "1hh")],
)
def test_durations(text: str, value: float | None) -> None:
    assert duration(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("lower", "lower_is_better"),
        ("Lower is better.", "lower_is_better"),
        ("minimise", "lower_is_better"),
        ("↓", "lower_is_better"),
        ("higher_is_better", "higher_is_better"),
        ("as many as possible", None),
        ("MAXIMIZE", "higher_is_better"),
        ("not lower", None),
        ("higher or lower", None),
    ],
)
def test_directions(text: str, value: str | None) -> None:
    assert direction(text) == value


def test_fractions() -> None:
    assert [fraction(text) for text in ("5%", "0.05", "-1%", "x")] == [0.05, 0.05, None, None]
