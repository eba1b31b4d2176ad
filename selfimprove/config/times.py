"""`--until 07:30` and `--for 8h`."""

from __future__ import annotations

from datetime import datetime, timedelta

from selfimprove.errors import UsageError
from selfimprove.words import duration, moment


def deadline(until: str | None, lasting: str | None, now: datetime) -> datetime | None:
    """When a run must end: the earlier of the two, none where neither is given.

    `now` is in the person's own time zone; a time of day means its next occurrence.
    """
    ends = []
    if until is not None:
        at = moment(until, now)
        if at is None:
            raise UsageError(f"--until: cannot read {until!r}", "write a time such as 07:30")
        if at <= now:
            raise UsageError(f"--until: {until} is past", "write a time to come")
        ends.append(at)
    if lasting is not None:
        seconds = duration(lasting)
        if seconds is None:
            raise UsageError(
                f"--for: cannot read {lasting!r}", "write a duration such as 8h or 90m"
            )
        ends.append(now + timedelta(seconds=seconds))
    return min(ends, default=None)
