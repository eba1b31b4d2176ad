"""A function fits on a screen or two, a file can be read in one sitting."""

from __future__ import annotations

import ast
import statistics
from collections.abc import Iterator

import pytest

from .source import CHECKOUT, PACKAGE, parsed, tracked

FUNCTION_LINES, PARAMETERS = 70, 5
FILE_LINES, TEST_FILE_LINES, MEDIAN_LINES = 400, 500, 120
CODE = [path for path in tracked() if path.suffix == ".py"]
HOUSE = {path for path in CODE if path.is_relative_to(CHECKOUT / PACKAGE)}


def functions() -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef, bool]]:
    """Every function, where it is, and whether it belongs to the package."""
    for path in CODE:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                where = f"{path.relative_to(CHECKOUT)}:{node.lineno} {node.name}"
                yield where, node, path in HOUSE


def parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return len([item for item in given if item.arg not in ("self", "cls")])


@pytest.mark.skipif(not CODE, reason="git lists no files here")
def test_functions_are_short_and_take_little() -> None:
    every = list(functions())
    assert [
        f"{where}: {node.end_lineno - node.lineno + 1} lines"
        for where, node, _ in every
        if node.end_lineno is not None and node.end_lineno - node.lineno >= FUNCTION_LINES
    ] == []
    assert [
        f"{where}: {parameters(node)} parameters"
        for where, node, ours in every
        if ours and parameters(node) > PARAMETERS
    ] == []


@pytest.mark.skipif(not CODE, reason="git lists no files here")
def test_files_are_short() -> None:
    length = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in CODE}
    assert [
        f"{path.relative_to(CHECKOUT)}: {lines} lines"
        for path, lines in length.items()
        if lines > (FILE_LINES if path in HOUSE else TEST_FILE_LINES)
    ] == []
    assert statistics.median(length[path] for path in HOUSE) <= MEDIAN_LINES
