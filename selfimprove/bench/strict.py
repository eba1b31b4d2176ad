"""Numbers and JSON, read strictly: what a benchmark printed means one thing or is refused.

Python's own readers take `NaN`, `1e400`, `1_000`, Arabic digits and duplicate keys; each of them
has been used to make a bad score look good.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SHOWN = 60


class ScoreError(ValueError):
    """No single score can be read from what a benchmark left behind."""

    def __init__(self, what: str, why: str) -> None:
        self.what = what
        self.why = why
        super().__init__(f"{what}: {why}" if why else what)


class KeysChanged(ScoreError):  # noqa: N818 - a verdict on the candidate, not an error of ours
    """A result has other keys than the baseline's: the candidate changed how it is scored."""


def shown(text: str) -> str:
    """A piece of output as a message may quote it: one line, ASCII, short."""
    quoted = ascii(text)
    return quoted if len(quoted) <= _SHOWN else f"{quoted[: _SHOWN - 4]}...{quoted[-1]}"


def number(text: str) -> float:
    """A finite decimal in ASCII digits; raises ScoreError for anything else."""
    if not _DECIMAL.fullmatch(text):
        raise ScoreError(
            f"{shown(text)} is not a number", "a finite decimal in ASCII digits is wanted"
        )
    value = float(text)
    if math.isinf(value):
        raise ScoreError(f"{shown(text)} is not a number", "it is too large to be held exactly")
    if value == 0.0:
        if re.search(r"[1-9]", re.split("[eE]", text)[0]):
            raise ScoreError(f"{shown(text)} is not a number", "it is too small to be held")
        return 0.0  # never -0.0
    return value


def looks_like_number(text: str) -> bool:
    """Whether a careless reader would take `text` for a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def strict_json(text: str) -> Any:
    """A JSON text with finite numbers and no key twice; raises ScoreError."""
    try:
        return json.loads(
            text,
            object_pairs_hook=_unique,
            parse_float=number,
            parse_int=number,
            parse_constant=_no_constant,
        )
    except ScoreError:
        raise
    except RecursionError:
        raise ScoreError("the result is not JSON", "it is nested too deeply") from None
    except ValueError as error:
        raise ScoreError("the result is not JSON", str(error)) from None


def lax_json_object(text: str) -> dict[str, Any] | None:
    """The object that a careless reader would see in `text`, to say why it is refused."""
    try:
        found = json.loads(text, parse_int=float)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ScoreError(f"the key {shown(twice)} stands twice", "one of the values would be lost")
    return found


def _no_constant(text: str) -> NoReturn:
    raise ScoreError(f"{text} is not a number", "a score must be finite")
