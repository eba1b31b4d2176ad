"""Tells a change that no program can notice: comments and layout alone."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from selfimprove.syntax import UNPARSABLE, parse


def changes_no_code(pairs: Iterable[tuple[str, bytes, bytes]]) -> bool:
    """Whether every file (its path, before, after) is Python that means what it meant.

    Docstrings count as code: a program can read them. Other languages are given the benefit of
    the doubt, and their benchmark decides.
    """
    found = list(pairs)
    return bool(found) and all(_same(path, old, new) for path, old, new in found)


def _same(path: str, old: bytes, new: bytes) -> bool:
    if not path.endswith(".py"):
        return False
    try:
        return ast.dump(parse(old)) == ast.dump(parse(new))
    except UNPARSABLE:
        return False
