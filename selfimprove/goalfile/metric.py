"""`## Target Metric`: name, direction and target, and whether they agree."""

from __future__ import annotations

import re

from selfimprove.contracts.base import Direction
from selfimprove.contracts.goal import Metric
from selfimprove.goalfile.reader import Fields, Part, Value
from selfimprove.markdown import plain
from selfimprove.words import NOTHING, Quantity, direction, in_words, number, quantity, reached

KEYS = {
    "Metric name": ("metric name", "metric", "name", "primary metric"),
    "Target value": ("target value", "target", "goal", "goal value"),
    "Direction": ("direction", "better", "optimize", "optimise"),
    "Unit": ("unit", "units"),
    "Baseline": ("baseline", "baseline value", "current value", "current", "today"),
}
_BARE = re.compile(
    r"`?(?P<name>[\w.-]+)`?\s*:?\s*(?P<target>(?:[<>≤≥]|below|under|at (?:most|least)).*)"
)


def read_metric(part: Part, passes_or_fails: bool) -> Metric:
    """The metric; ConfigError where something is missing, unclear or contradictory."""
    fields = _with_bare_line(part)
    name = part.one(fields, "Metric name")
    if name is None or not plain(name.text):
        raise part.missing(
            "metric name", "write '- Metric name: p95_ms', as the benchmark names it"
        )
    unit = part.one(fields, "Unit")
    unit_words = plain(unit.text) if unit else ""
    target_line = part.one(fields, "Target value")
    target = _target(part, target_line, unit_words)
    better = _direction(part, part.one(fields, "Direction"), target, target_line, passes_or_fails)
    _check_baseline(part, part.one(fields, "Baseline"), target, better)
    return Metric(
        name=_name(part, name),
        direction=better,
        target_value=target.value if target else None,
        unit=unit_words or (target.unit if target else ""),
    )


def _with_bare_line(part: Part) -> Fields:
    """A line such as `p95_ms < 120 ms` gives name, direction and target at once."""
    fields = part.fields(KEYS)
    if "Metric name" not in fields.values and "Target value" not in fields.values:
        for piece in fields.loose:
            if found := _BARE.fullmatch(piece.text):
                for key, text in (
                    ("Metric name", found["name"]),
                    ("Target value", found["target"]),
                ):
                    fields.values[key] = [Value(text, piece.line)]
                break
    return fields


def _name(part: Part, value: Value) -> str:
    """The name as the benchmark prints it; a remark in brackets behind it is left off."""
    words = plain(re.sub(r"\s+\([^()]*\)\s*$", "", value.text)).strip("\"'")
    if not words.isprintable() or len(words) > 80:
        raise part.error(value.line, "the metric's name is too long", "give the name alone")
    return words


def _target(part: Part, value: Value | None, unit: str) -> Quantity | None:
    if value is None or plain(value.text).lower() in NOTHING | {"no target", "open"}:
        return None
    target = quantity(plain(value.text))
    if target is None:
        raise part.error(
            value.line,
            f"cannot read the target {plain(value.text)!r}",
            "write one number, such as '120', '< 120 ms' or '>= 0.98', or 'none'",
        )
    if target.unit == "%" and unit != "%":
        raise part.error(
            value.line,
            f"the target {plain(value.text)!r} may mean {target.value:g} or {target.value / 100:g}",
            "write the number as the benchmark prints it, without %",
        )
    return target


def _direction(
    part: Part,
    value: Value | None,
    target: Quantity | None,
    target_line: Value | None,
    passes_or_fails: bool,
) -> Direction:
    implied = target.direction if target else None
    if value is None:
        better = implied or ("higher_is_better" if passes_or_fails else None)
        if better is None:
            raise part.missing("direction", "write '- Direction: lower' or '- Direction: higher'")
        return better
    better = direction(plain(value.text))
    if better is None:
        raise part.error(
            value.line,
            f"cannot tell a direction from {plain(value.text)!r}",
            "write '- Direction: lower' or '- Direction: higher'",
        )
    if implied and target_line and implied != better:
        raise part.error(
            value.line,
            f"the direction is {in_words(better)}, but the target on line {target_line.line} is "
            f"{plain(target_line.text)!r}, which wants {in_words(implied)}",
            f"write '- Direction: {in_words(implied)}' or turn the target's sign",
        )
    if passes_or_fails and better == "lower_is_better":
        raise part.error(
            value.line,
            "a pass_fail benchmark scores 1 for pass and 0 for fail, so lower would be worse",
            "write '- Direction: higher'",
        )
    return better


def _check_baseline(
    part: Part, value: Value | None, target: Quantity | None, better: Direction
) -> None:
    """A stated baseline must leave something to gain."""
    if value is None or target is None:
        return
    stated = quantity(plain(value.text))
    if stated is None or number(f"{stated.value}") is None:
        return
    if reached(stated.value, target.value, better):
        raise part.error(
            value.line,
            f"the baseline {stated.value:g} has already reached the target {target.value:g}, "
            f"as {in_words(better)} is better",
            "set a target beyond it, or turn the direction",
        )
