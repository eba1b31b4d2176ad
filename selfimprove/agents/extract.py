"""Finds the last JSON object in what a program printed, whatever prose stands around it.

The search runs backwards from the last brace that could close an object to the one that opens it,
stepping over strings, and gives up after a fixed multiple of the input's length: 8 MiB of braces
cost no more than 8 MiB of anything else.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

LIMIT = 8 << 20
"""Bytes an answer may have at most."""
_PASSES = 2
_SMALL = 1 << 20

# Over reversed text: a run of braces, or a string. Read backwards a quote ends its string unless
# a backslash comes next. Possessive, so that no input makes it try twice; the last quote is
# optional so that a string without a beginning is found once, not once for each quote in it.
_TOKEN = re.compile(rb'\}+|\{+|"(?:[^"]++|"(?=\\))*+("?)')

_LIKE_JSON = re.compile(rb'\{\s*["}]')


class NotFoundError(ValueError):
    """There is no JSON object; the message says what is there instead."""


def last_object(data: bytes) -> tuple[dict[str, Any], int]:
    """Give the last outermost JSON object in `data` and where it begins; raises NotFoundError."""
    reversed_data = data[::-1]
    work = max(_PASSES * len(data), _SMALL)
    end = data.rfind(b"}")
    while end >= 0 and work > 0:
        start, cost = _opening(reversed_data, len(data) - 1 - end)
        work -= cost
        if start is None:
            end = data.rfind(b"}", 0, end)
            continue
        begin = len(data) - 1 - start
        if _LIKE_JSON.match(data, begin):
            # Where it is broken this raises: an earlier draft must not stand in for the answer.
            return parse_object(data[begin : end + 1]), begin
        end = data.rfind(b"}", 0, begin)
    raise NotFoundError("there is no JSON object in it")


def _opening(reversed_data: bytes, at: int) -> tuple[int | None, int]:
    """Find, in reversed text, the brace that opens what the one at `at` closes, and the cost."""
    depth = 0
    for token in _TOKEN.finditer(reversed_data, at):
        kind = token[0][:1]
        if kind == b'"':
            if not token[1]:
                break
        elif kind == b"}":
            depth += len(token[0])
        elif len(token[0]) < depth:
            depth -= len(token[0])
        else:
            found = token.start() + depth - 1
            return found, found - at + 1
    return None, len(reversed_data) - at


def parse_object(text: bytes) -> dict[str, Any]:
    """Parse strict JSON that must be an object: no NaN, no key twice, nothing but Unicode."""
    if len(text) > LIMIT:
        raise NotFoundError(f"the answer has {len(text)} bytes, {LIMIT} are allowed")
    try:
        found = json.loads(
            text.decode("utf-8"), object_pairs_hook=_no_key_twice, parse_constant=_no_constant
        )
        json.dumps(found, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise NotFoundError("the answer is nested too deeply") from None
    except UnicodeError as error:
        raise NotFoundError(f"the answer is not UTF-8: {error}") from None
    except ValueError as error:
        raise NotFoundError(f"the answer is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise NotFoundError("the answer is not a JSON object")
    return found


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = sorted(key for key, _ in pairs)
        twice = next(a for a, b in pairwise(keys) if a == b)
        raise ValueError(f"the key {twice[:60]!r} stands in it twice")
    return found


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")
