"""`## Benchmark` and `## Scope`."""

from __future__ import annotations

import re

from selfimprove.contracts.goal import BenchmarkSpec, Scope
from selfimprove.contracts.settings import FORMATS, Settings
from selfimprove.goalfile.reader import SCOPE_KEYS, Fields, Part, Value, nearest
from selfimprove.goalfile.values import command, paths
from selfimprove.markdown import code_spans, plain
from selfimprove.words import NOTHING, duration

KEYS = {
    "Command": ("command", "run", "benchmark command", "cmd"),
    "Format": ("format", "output format", "output", "benchmark format"),
    "Timeout": ("timeout", "time out", "time limit", "benchmark timeout"),
    "Sealed": ("sealed", "sealed files", "seal"),
}
_SPELLINGS = {
    "pass/fail": "pass_fail", "pass fail": "pass_fail", "pass-fail": "pass_fail",
    "exit code": "pass_fail", "a number": "number", "plain number": "number",
    "one number": "number", "json object": "json", "json line": "json",
    "pytest_benchmark": "pytest-benchmark", "go bench": "go-bench", "gobench": "go-bench",
    "junit xml": "junit", "cargo bench": "criterion",
}  # fmt: skip


def read_benchmark(part: Part) -> BenchmarkSpec:
    """The benchmark as far as it is given; `init` or the settings may supply the command."""
    _refuse_settings_keys(part)
    fields = part.fields(KEYS)
    run = part.one(fields, "Command") or _bare_command(part, fields)
    return BenchmarkSpec(
        command=_command(part, run),
        format=_format(part, part.one(fields, "Format")),
        timeout_s=_timeout(part, part.one(fields, "Timeout")),
        sealed=paths(part, fields.all("Sealed")),
    )


def read_scope(part: Part) -> Scope:
    """What may be edited; without an `In scope` nothing could be, so it must be there."""
    fields = part.fields(SCOPE_KEYS)
    bare = [Value(piece.text, piece.line) for piece in fields.loose if piece.kind == "item"]
    inside = paths(part, [*fields.all("In scope"), *bare])
    if not inside:
        raise part.missing("paths in scope", "write '- In scope: src/'")
    scope = Scope(
        in_scope=inside,
        out_of_scope=paths(part, fields.all("Out of scope")),
        hidden=paths(part, fields.all("Hidden")),
    )
    for key, others in (("Out of scope", scope.out_of_scope), ("Hidden", scope.hidden)):
        for both in others:
            if both in inside:
                line = next(v.line for v in fields.all(key) if both in paths(part, [v]))
                raise part.error(
                    line, f"{both!r} is both 'In scope' and '{key}'", "take it out of one of them"
                )
    return scope


def _refuse_settings_keys(part: Part) -> None:
    """`Prepare command: …` belongs in settings.json, and is not a misspelt `Command`."""
    for piece in part.pieces:
        key = re.sub(r"[\s-]+", "_", plain(piece.split_key()[0]).lower())
        setting = f"{key}_command" if f"{key}_command" in Settings.model_fields else key
        if key and setting in Settings.model_fields and not nearest(key, KEYS):
            raise part.error(
                piece.line,
                f"{plain(piece.split_key()[0])!r} is a setting",
                f"set {setting!r} in config/settings.json",
            )


def _bare_command(part: Part, fields: Fields) -> Value | None:
    """A block of code, or a line that is nothing but a code span."""
    bare = [
        Value(piece.text, piece.line, piece.kind)
        for piece in fields.loose
        if piece.kind == "code"
        or (code_spans(piece.text) and plain(piece.text) == code_spans(piece.text)[0])
    ]
    if len(bare) > 1:
        raise part.error(
            bare[1].line,
            f"a second command; the first is line {bare[0].line}",
            "keep one of the two",
        )
    return bare[0] if bare else None


def _command(part: Part, value: Value | None) -> str:
    if value is None:
        return ""
    words = command(part, value)
    return "" if words.lower() in NOTHING else words


def _format(part: Part, value: Value | None) -> str:
    if value is None or plain(value.text).lower() in NOTHING:
        return ""
    spans = code_spans(value.text)
    words = spans[0] if spans else value.text.strip()
    if found := re.match(r"regexp?\s*:\s*(.+)", words, re.IGNORECASE | re.DOTALL):
        return _regex(part, value, found[1])
    name = re.sub(r"\s*\(.*\)$", "", words.strip().lower())
    name = _SPELLINGS.get(name, name)
    if name not in FORMATS:
        raise part.error(
            value.line,
            f"no format {words!r} is known",
            f"write one of {', '.join(FORMATS)}, or `regex:PATTERN`",
        )
    return name


def _regex(part: Part, value: Value, pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise part.error(
            value.line, f"the pattern {pattern!r} does not compile: {error}", "mend it"
        ) from None
    return f"regex:{pattern}"


def _timeout(part: Part, value: Value | None) -> float | None:
    if value is None or plain(value.text).lower() in NOTHING:
        return None
    seconds = duration(plain(value.text))
    if seconds is None:
        raise part.error(
            value.line,
            f"cannot read the time-out {plain(value.text)!r}",
            "write a duration such as '90s', '20m' or '1h 30m'",
        )
    return seconds
