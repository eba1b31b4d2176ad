"""From what a benchmark left behind to one score, strictly.

`json`, `number`, `pass_fail` and `regex:...` are read here; a measuring tool's own report by its
reader in `readers/`, from the file that `{result}` names or else from the output.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from fnmatch import fnmatchcase

from selfimprove.bench import jsonscore, metric, readers
from selfimprove.bench.jsonscore import Score
from selfimprove.bench.strict import KeysChanged, ScoreError, looks_like_number, number, shown
from selfimprove.contracts.settings import FORMATS
from selfimprove.errors import ConfigError

__all__ = [
    "KeysChanged",
    "Score",
    "ScoreError",
    "check_keys",
    "exit_is_score",
    "read_score",
    "supported",
]

_FIGURES = {
    "number": re.compile(r"[0-9]"),
    "go-bench": re.compile(r"Benchmark\S*\s+[0-9]+\s"),
}
"""What stands in each line of these formats that holds a figure."""
_QUOTED_KEY = re.compile(r'"([^"]*)"\s*:')
_ANCHORS = re.compile(r"\A(?P<flags>\(\?[aimsux]+\))?(?:\^|\\A)(?:\.\*\??)?|(?<!\\)(?:\$|\\Z)\Z")
"""An expression's anchors at its two ends; `.*` behind the first is none the less."""
_LONG = 1000
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
_REGEX = "regex:"


def supported(fmt: str) -> None:
    """Refuse, at configuration, a format that cannot be read; raises ConfigError."""
    if fmt.startswith(_REGEX):
        try:
            groups = re.compile(fmt.removeprefix(_REGEX)).groups
        except re.error as error:
            raise ConfigError(
                f"benchmark_format: {shown(fmt)} is not a regular expression: {error}",
                "write it in Python's syntax, the number in its one group",
            ) from None
        if groups > 1:
            raise ConfigError(
                f"benchmark_format: {shown(fmt)} has {groups} groups",
                "put the number in one group and write the others as (?:...)",
            )
    elif fmt not in FORMATS:
        raise ConfigError(
            f"benchmark_format: no format {shown(fmt)}",
            f"known are {', '.join(FORMATS)} and regex:PATTERN",
        )


def exit_is_score(fmt: str) -> bool:
    """Whether a non-zero exit is part of the answer and not a failure."""
    return fmt in ("pass_fail", "junit")


def read_score(
    fmt: str, stdout: bytes, result: bytes | None, exit_code: int, primary: str
) -> Score:
    """The one score of a finished run; `result` is the file that `{result}` named, if it did."""
    if fmt == "pass_fail":
        return Score(1.0 if exit_code == 0 else 0.0, primary=primary)
    if exit_code != 0 and not exit_is_score(fmt):
        raise ScoreError(f"the benchmark exited with {exit_code}", "what it printed does not count")
    if fmt == "json":
        if result is not None:
            return jsonscore.from_file(result, primary)
        return jsonscore.from_stdout(stdout, primary)
    answer = stdout if result is None else result
    if fmt == "number":
        return Score(_only_number(answer), primary=primary)
    if fmt.startswith(_REGEX):
        return Score(_only_match(fmt.removeprefix(_REGEX), answer), primary=primary)
    return _from_tool(fmt, answer, exit_code, primary)


def mentions(fmt: str, stdout: bytes, name: str) -> int:
    """How many lines of the output speak of the score, whether it can be read from them or not.

    A score in front of which something was printed without a line break is no score any more, and
    one that was printed before it would be the only one: candidates must not add to this number.
    """
    speaks = _speaker(fmt, name)
    text = stdout.decode("utf-8", "replace")
    lines = (_unescaped(text) if fmt == "json" else text).split("\n")
    return sum(map(speaks, lines)) if speaks else 0


def _speaker(fmt: str, name: str) -> Callable[[str], bool] | None:
    """What tells whether a line speaks of the score; None where nothing can."""
    if fmt.startswith(_REGEX):
        loose = _unanchored(fmt.removeprefix(_REGEX))
        return lambda line: any(map(loose.search, _ends(line)))
    if fmt in _FIGURES:
        return lambda line: bool(_FIGURES[fmt].search(line))
    if fmt != "json" or not name:
        return None
    glob = metric.geomean_glob(name)
    if glob is None:
        key = json.dumps(name.rpartition(".")[2], ensure_ascii=False)
        return lambda line: key in line
    part = max(glob.split("."), key=lambda each: len(each.strip("*")))
    return lambda line: any(
        fnmatchcase(each, glob) or fnmatchcase(each, part) for each in _QUOTED_KEY.findall(line)
    )


def _unanchored(pattern: str) -> re.Pattern[str]:
    """The user's expression, to be found behind and before whatever else stands in its line."""
    loose = _ANCHORS.sub(lambda found: found["flags"] or "", pattern)
    try:
        return re.compile(loose)
    except re.error:
        return re.compile(pattern)


def _ends(line: str) -> tuple[str, ...]:
    """A long line's beginning and end: searching all of it could take for ever."""
    return (line,) if len(line) <= 2 * _LONG else (line[:_LONG], line[-_LONG:])


def _unescaped(text: str) -> str:
    """The output with each character that JSON lets be written otherwise as itself."""
    text = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)
    pairs = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return pairs.replace("\\/", "/")


def check_mentions(count: int, most: int | None) -> None:
    """Raise ScoreError where more lines speak of the score than at the baseline.

    Where none did the score was told in another way, and there is nothing to hold.
    """
    if most and count > most:
        raise ScoreError(
            f"{count} lines of the output speak of the score",
            f"at the baseline {most} did: print nothing in front of it",
        )


def check_keys(score: Score, expected: frozenset[str] | None) -> None:
    """Raise KeysChanged where an answer's keys are not the baseline's (None: nothing to hold)."""
    if expected is None or score.keys == expected:
        return
    new, gone = sorted(score.keys - expected), sorted(expected - score.keys)
    parts = [f"new: {', '.join(new[:5])}"] if new else []
    parts += [f"gone: {', '.join(gone[:5])}"] if gone else []
    raise KeysChanged("the result has other keys than the baseline's", "; ".join(parts))


def _only_number(answer: bytes) -> float:
    lines = [line.strip() for line in answer.decode("utf-8", "replace").split("\n")]
    numbers = [line for line in lines if looks_like_number(line)]
    if len(numbers) != 1:
        raise ScoreError(
            f"{len(numbers) or 'no'} lines of the output are numbers",
            "exactly one line must hold a number and nothing else",
        )
    return number(numbers[0])


def _only_match(pattern: str, answer: bytes) -> float:
    text = answer.decode("utf-8", "replace")
    matches = [match for match in re.finditer(pattern, text, re.MULTILINE) if match[0]]
    if len(matches) != 1:
        raise ScoreError(
            f"regex:{shown(pattern)} matches {len(matches)} times", "it must match exactly once"
        )
    return number(matches[0][1 if matches[0].re.groups else 0] or "")


def _from_tool(fmt: str, answer: bytes, exit_code: int, primary: str) -> Score:
    if not answer.strip():
        raise ScoreError(
            f"no {fmt} report was written",
            "let the command write it to {result}, or print it",
        )
    values = readers.read(fmt, answer)
    if exit_code != 0 and not values.get("failures", 0.0) + values.get("errors", 0.0):
        raise ScoreError(
            f"the tests exited with {exit_code}", "the report names no failure: it is not whole"
        )
    default = readers.DEFAULT_PRIMARY.get(fmt, "")
    named = primary if primary in values or metric.geomean_glob(primary) else default
    value, name = metric.pick(values, named or primary)
    subs = {key: other for key, other in values.items() if key != name}
    return Score(value, subs, frozenset(values), name)
