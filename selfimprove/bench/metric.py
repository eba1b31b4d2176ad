"""Which of a result's numbers is the score."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase

from selfimprove.bench.strict import ScoreError, shown

FALLBACK = "primary"
"""The name looked for where the metric's own is absent."""
TIME_UNITS = frozenset(
    (
        *("ns", "us", "µs", "μs", "ms", "s", "sec", "secs", "min", "mins", "h"),
        *("nanosecond", "microsecond", "millisecond", "second", "minute", "hour"),
        *("nanoseconds", "microseconds", "milliseconds", "seconds", "minutes", "hours"),
    )
)
TIME_FORMATS = frozenset({"hyperfine", "pytest-benchmark", "pyperf", "criterion"})
_TIME_NAMES = re.compile(
    r"(?:^|[^a-z])(?:time|seconds?|secs?|ms|latency|duration|runtime|elapsed)(?:[^a-z]|$)"
)


def geomean_glob(primary: str) -> str | None:
    """The glob inside `geomean(glob)`, or None for a plain name."""
    if primary.startswith("geomean(") and primary.endswith(")"):
        return primary[len("geomean(") : -1].strip()
    return None


def matching(values: Mapping[str, float], glob: str) -> dict[str, float]:
    """The numbers whose names match `glob`, case and all."""
    return {name: value for name, value in values.items() if fnmatchcase(name, glob)}


def geomean(values: Mapping[str, float]) -> float:
    """The geometric mean; every value must be above zero, or the mean could be steered by one."""
    for name, value in values.items():
        if value <= 0:
            raise ScoreError(
                f"{shown(name)} is {value:g}", "a geometric mean needs values above zero"
            )
    return math.exp(math.fsum(math.log(value) for value in values.values()) / len(values))


def choose(values: Mapping[str, float], primary: str) -> str | None:
    """The name of the score among `values`: the metric's, else `primary`, else the only number."""
    if primary in values:
        return primary
    if FALLBACK in values:
        return FALLBACK
    return next(iter(values)) if len(values) == 1 else None


def pick(values: Mapping[str, float], primary: str) -> tuple[float, str]:
    """The score and the name it was found under; raises ScoreError that lists what there is."""
    glob = geomean_glob(primary)
    if glob is not None:
        members = matching(values, glob)
        if not members:
            raise ScoreError(f"no number matches {primary}", found(values))
        return geomean(members), primary
    name = choose(values, primary)
    if name is None:
        wanted = f"no number named {shown(primary)}" if primary else "no number named 'primary'"
        raise ScoreError(wanted, found(values))
    return values[name], name


def found(values: Mapping[str, float]) -> str:
    """What numbers there were, for a message."""
    if not values:
        return "the result holds no numbers"
    names = sorted(values)
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    hint = "; name one by primary_metric, or geomean(glob)"
    return f"there are {', '.join(shown(name) for name in names[:8])}{more}{hint}"


def is_time(name: str, unit: str, form: str) -> bool:
    """Whether a score is time that passes, as far as its unit, its name or its format tell."""
    if unit:
        return unit.strip().lower().partition("/")[0].rstrip(".") in TIME_UNITS
    return form in TIME_FORMATS or bool(_TIME_NAMES.search(name.lower()))
