"""The `json` format: exactly one JSON object, on one line, holding the primary metric."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from selfimprove.bench import metric
from selfimprove.bench.strict import ScoreError, lax_json_object, shown, strict_json

SUB_SCORES = "sub_scores"


@dataclass(frozen=True)
class Score:
    """One reading of a benchmark."""

    value: float
    sub_scores: dict[str, float] = field(default_factory=dict)
    keys: frozenset[str] = frozenset()
    """The keys of the whole answer, recursively; compared with the baseline's."""
    primary: str = ""
    """The name the score was found under."""


def from_stdout(stdout: bytes, primary: str) -> Score:
    """Read the one line of output that is a JSON object holding the primary metric."""
    lines = stdout.decode("utf-8", "replace").split("\n")
    return _one([line for line in lines if line.strip().startswith("{")], primary, "the output")


def from_file(result: bytes, primary: str) -> Score:
    """Read the file that `{result}` named: one object as a whole, or one line of it."""
    text = result.decode("utf-8", "replace")
    if not text.strip():
        raise ScoreError("the result file is empty", "the benchmark wrote nothing to {result}")
    if lax_json_object(text) is not None:
        return _score(_object(text), primary)
    return _one([line for line in text.split("\n") if line.strip()], primary, "the result file")


def _one(lines: list[str], primary: str, where: str) -> Score:
    """The score in the only line that holds one; a line refused for its numbers counts as one."""
    seen = [(line, found) for line in lines if (found := lax_json_object(line)) is not None]
    for holds in (_holds_name, _holds_fallback, _holds_only):
        holding = [line for line, found in seen if holds(found, primary)]
        if len(holding) > 1:
            raise ScoreError(
                f"{where} holds {len(holding)} scores",
                f"exactly one line may be a JSON object with {_wanted(primary)}",
            )
        if holding:
            return _score(_object(holding[0]), primary)
    raise _none(seen, primary, where)


def _none(seen: list[tuple[str, dict[str, Any]]], primary: str, where: str) -> ScoreError:
    if seen:
        return ScoreError(
            f"no JSON object in {where} holds {_wanted(primary)}",
            metric.found(dict(_numbers(seen[-1][1]))),
        )
    return ScoreError(
        f"{where} holds no score",
        f"one line must be a JSON object with {_wanted(primary)} (pretty-printing breaks it up)",
    )


def _object(text: str) -> dict[str, Any]:
    found = strict_json(text)
    assert isinstance(found, dict)
    return found


def _holds_name(found: dict[str, Any], primary: str) -> bool:
    names = dict(_numbers(found))
    glob = metric.geomean_glob(primary)
    if glob is not None:
        return bool(metric.matching(names, glob))
    return primary in names or primary in found


def _holds_fallback(found: dict[str, Any], primary: str) -> bool:
    return metric.FALLBACK in found and metric.geomean_glob(primary) is None


def _holds_only(found: dict[str, Any], primary: str) -> bool:
    return len(dict(_numbers(found))) == 1 and metric.geomean_glob(primary) is None


def _wanted(primary: str) -> str:
    if metric.geomean_glob(primary) is not None:
        return f"numbers for {primary}"
    return f"the number {shown(primary or metric.FALLBACK)}"


def _score(answer: dict[str, Any], primary: str) -> Score:
    pairs = list(_numbers(answer))
    numbers = dict(pairs)
    if len(numbers) != len(pairs):
        raise ScoreError("two numbers have one dotted name", "keep dots out of the keys")
    if primary in answer and primary not in numbers:
        raise ScoreError(f"{shown(primary)} is {shown(str(answer[primary]))}", "a number is wanted")
    value, name = metric.pick(numbers, primary)
    return Score(value, _sub_scores(numbers, name), frozenset(_keys(answer, "")), name)


def _sub_scores(numbers: dict[str, float], primary: str) -> dict[str, float]:
    """Numbers in `sub_scores`, and those beside the primary one (a geomean's own members)."""
    glob = metric.geomean_glob(primary)
    beside = "" if glob is not None else primary.rpartition(".")[0]
    subs: dict[str, float] = {}
    for path, value in numbers.items():
        folder, _, leaf = path.rpartition(".")
        if path == primary:
            continue
        if glob is not None and metric.matching({path: value}, glob):
            name = path
        elif folder in (SUB_SCORES, beside):
            name = leaf
        else:
            continue
        if name in subs:
            raise ScoreError(f"the sub-score {shown(name)} is given twice", "rename one of them")
        subs[name] = value
    return subs


def _numbers(found: dict[str, Any], above: str = "") -> Iterator[tuple[str, float]]:
    """Each number under its dotted path; lists and booleans are no scores."""
    for key, value in found.items():
        path = f"{above}.{key}" if above else key
        if isinstance(value, dict):
            yield from _numbers(value, path)
        elif isinstance(value, float):
            yield path, value


def _keys(value: Any, above: str) -> Iterator[str]:
    """The path of every key, escaped as in JSON pointers; a list's objects share one path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            path = f"{above}/{key.replace('~', '~0').replace('/', '~1')}"
            yield path
            yield from _keys(inner, path)
    elif isinstance(value, list):
        for inner in value:
            yield from _keys(inner, f"{above}[]")
