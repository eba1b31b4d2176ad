"""A Python file as a syntax tree that knows its own characters."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from selfimprove.agents.offline.edits import Splice, splice
from selfimprove.syntax import parse

Function = ast.FunctionDef | ast.AsyncFunctionDef
Loop = ast.For | ast.AsyncFor | ast.While
_SHARED = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class PyModule:
    """One parsed file: nodes to spans, to source, to the function they stand in."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = parse(text)
        self._data = text.encode()
        self._starts = [0]
        for line in self._data.split(b"\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._ascii = len(self._data) == len(text)
        self.parents: dict[ast.AST, ast.AST] = {}
        self.nodes: list[ast.AST] = []
        self._extent: dict[ast.AST, tuple[int, int]] = {}
        self._number()

    def _number(self) -> None:
        """Put all nodes in one list, so that walking through a part of the tree is a slice."""
        stack: list[ast.AST] = [self.tree]
        while stack:
            node = stack.pop()
            self.nodes.append(node)
            # contexts and operators are shared between places, and hold nothing
            below = [c for c in ast.iter_child_nodes(node) if not isinstance(c, _SHARED)]
            for child in reversed(below):
                self.parents[child] = node
                stack.append(child)
        sizes = dict.fromkeys(self.nodes, 1)
        for at in range(len(self.nodes) - 1, -1, -1):
            node = self.nodes[at]
            self._extent[node] = (at, at + sizes[node])
            if node in self.parents:
                sizes[self.parents[node]] += sizes[node]

    def walk(self, node: ast.AST) -> list[ast.AST]:
        """Give a node and all below it, in the order of the text."""
        start, end = self._extent[node]
        return self.nodes[start:end]

    def offset(self, line: int, column: int) -> int:
        """Turn a node's position (bytes) into an index of the text (characters)."""
        at = self._starts[line - 1] + column
        return at if self._ascii else len(self._data[:at].decode())

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Give where a node begins and ends in the text."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return (
            self.offset(node.lineno, node.col_offset),
            self.offset(node.end_lineno, node.end_col_offset),
        )

    def source(self, node: ast.expr | ast.stmt) -> str:
        """Give the text of a node as it is written."""
        start, end = self.span(node)
        return self.text[start:end]

    def replace(self, node: ast.expr | ast.stmt, new: str) -> Splice:
        """Make an edit of a node's span."""
        return Splice(*self.span(node), new)

    def before(self, stmt: ast.stmt, lines: list[str]) -> Splice:
        """Make an edit that puts whole lines before a statement, at its indentation."""
        start = self.offset(stmt.lineno, 0)
        if isinstance(stmt, Function | ast.ClassDef) and stmt.decorator_list:
            start = self.offset(stmt.decorator_list[0].lineno, 0)
        indent = self.indent(stmt)
        return Splice(
            start, start, "".join(f"{indent if line else ''}{line}{self.newline}" for line in lines)
        )

    def indent(self, stmt: ast.stmt) -> str:
        """Give the white space before a statement on its line."""
        start = self.offset(stmt.lineno, 0)
        return self.text[start : self.offset(stmt.lineno, stmt.col_offset)]

    def starts_line(self, stmt: ast.stmt) -> bool:
        """Whether nothing but white space stands before a statement, so lines can be added."""
        return not self.indent(stmt).strip()

    @cached_property
    def newline(self) -> str:
        """How this file ends its lines."""
        return "\r\n" if "\r\n" in self.text else "\n"

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """Give the nodes around one, the nearest first."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def function(self, node: ast.AST) -> Function | None:
        """Give the nearest function around a node."""
        return next((up for up in self.ancestors(node) if isinstance(up, Function)), None)

    def statement(self, node: ast.AST) -> ast.stmt:
        """Give the statement a node is part of."""
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def symbol(self, node: ast.AST) -> str:
        """Name the functions and classes around a node: `Cls.method`."""
        names = [up.name for up in self.ancestors(node) if isinstance(up, Function | ast.ClassDef)]
        if isinstance(node, Function | ast.ClassDef):
            names.insert(0, node.name)
        return ".".join(reversed(names))

    @cached_property
    def names(self) -> frozenset[str]:
        """Every name that is bound or used anywhere in the file."""
        found: set[str] = set()
        for node in self.nodes:
            if isinstance(node, ast.Name):
                found.add(node.id)
            elif isinstance(node, ast.arg):
                found.add(node.arg)
            elif isinstance(node, ast.alias):
                found.add((node.asname or node.name).split(".")[0])
            elif isinstance(node, Function | ast.ClassDef):
                found.add(node.name)
        return frozenset(found)

    def fresh(self, wanted: str) -> str:
        """Give a name like `wanted` that the file does not use."""
        name, number = wanted, 2
        while name in self.names:
            name, number = f"{wanted}_{number}", number + 1
        return name

    @cached_property
    def functions(self) -> list[Function]:
        """Every function of the file, in order."""
        found = [node for node in self.nodes if isinstance(node, Function)]
        return sorted(found, key=lambda node: node.lineno)

    @cached_property
    def imported(self) -> frozenset[str]:
        """Modules that `import x` at the top binds under their own name."""
        found = set()
        for node in self.tree.body:
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names if alias.asname is None}
        return frozenset(found)

    def import_of(self, module: str) -> list[Splice] | None:
        """Make the edits that import a module, or None where its name is taken."""
        if module in self.imported:
            return []
        if module in self.names:
            return None
        for node in self.tree.body:
            docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
            if not docstring and not future:
                blank = [] if isinstance(node, ast.Import | ast.ImportFrom) else [""]
                if not self.starts_line(node):
                    return None
                return [self.before(node, [f"import {module}", *blank])]
        return None

    def edited(self, splices: list[Splice]) -> str:
        """Give the text with the edits made."""
        return splice(self.text, splices)


def dotted(node: ast.AST | None) -> str:
    """Write a chain of names, `self.items`, or the empty string for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = dotted(node.value)
        return f"{base}.{node.attr}" if base else ""
    return ""
