"""Reads Python source, one text at a time.

Python 3.11 and 3.12 count how deep a tree is in one place for all threads. Where one thread is
held up in the middle (a finalizer that waits for a process), another's tree made meanwhile ends in
`SystemError: AST constructor recursion depth mismatch` (python/cpython#106905).
"""

from __future__ import annotations

import ast
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_ONE_AT_A_TIME = threading.Lock()
UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


def parse(text: str | bytes) -> ast.Module:
    """Parse without printing what Python would warn of; raises one of UNPARSABLE."""
    with _quietly():
        return ast.parse(text)


def compiles(text: str, path: str) -> str:
    """Say why a text is no Python module, or give the empty string."""
    try:
        with _quietly():
            compile(text, path, "exec", dont_inherit=True)
    except UNPARSABLE as error:
        return f"{type(error).__name__}: {error}"
    return ""


@contextmanager
def _quietly() -> Iterator[None]:
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
