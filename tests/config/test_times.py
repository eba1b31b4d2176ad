from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from selfimprove.config import deadline
from selfimprove.errors import UsageError

NOW = datetime(2026, 11, 21, 23, 0, tzinfo=timezone(timedelta(hours=1)))


def test_a_time_of_day_is_its_next_occurrence() -> None:
    assert deadline("07:30", None, NOW) == NOW.replace(day=22, hour=7, minute=30)
    assert deadline("23:30", None, NOW) == NOW.replace(minute=30)
    assert deadline("2026-11-23 01:00", None, NOW) == NOW.replace(day=23, hour=1)


def test_a_duration_and_the_earlier_of_both() -> None:
    assert deadline(None, "8h", NOW) == NOW + timedelta(hours=8)
    assert deadline("07:30", "1h30m", NOW) == NOW + timedelta(minutes=90)
    assert deadline(None, None, NOW) is None


@pytest.mark.parametrize(
    ("until", "lasting"), [("25:00", None), ("soon", None), ("2020-01-01", None), (None, "a while")]
)
def test_what_cannot_be_read_is_a_usage_error(until: str | None, lasting: str | None) -> None:
    with pytest.raises(UsageError, match="write a"):
        deadline(until, lasting, NOW)
