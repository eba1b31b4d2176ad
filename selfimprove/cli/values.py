"""Values a person writes on the command line, as option callbacks: durations, times, directions."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from selfimprove.contracts.base import Direction


def as_seconds(_: click.Context, __: click.Parameter, value: str | None) -> float | None:
    """Read `8h`, `90m`, `1h 30min`, or seconds."""
    from selfimprove.words import duration

    if value is None:
        return None
    found = duration(value)
    if found is None:
        raise click.BadParameter(f"{value!r} is no duration; write 8h, 90m or 45s")
    return found


def as_moment(_: click.Context, __: click.Parameter, value: str | None) -> datetime | None:
    """Read `07:30`, its next occurrence, or a date and time; as local time."""
    from selfimprove.words import moment

    if value is None:
        return None
    now = datetime.now().astimezone()
    found = moment(value, now)
    if found is None:
        raise click.BadParameter(f"{value!r} is no time; write 07:30 or 2026-11-22T07:30")
    if found <= now:
        raise click.BadParameter(f"{value} has passed; write a time to come")
    return found


def as_direction(_: click.Context, __: click.Parameter, value: str | None) -> Direction | None:
    """Read `lower`, `higher`, `minimize`, …"""
    from selfimprove.words import direction

    if value is None:
        return None
    found = direction(value)
    if found is None:
        raise click.BadParameter(f"{value!r} is no direction; write lower or higher")
    return found
