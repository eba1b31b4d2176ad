"""A loop inside a loop that looks for equal keys becomes a look-up in an index made once."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from selfimprove.agents.offline.codemods import Codemod
from selfimprove.agents.offline.edits import Splice
from selfimprove.agents.offline.pymodule import Loop, PyModule, dotted
from selfimprove.agents.offline.rewrites.stable import home, is_stable, outermost, repeated


def find(module: PyModule) -> Iterator[Codemod]:
    """Give a rewrite for each `for b in B: if b.k == a.k: ...` inside another loop."""
    for node in module.nodes:
        if isinstance(node, ast.For) and not node.orelse and len(node.body) == 1:
            test = node.body[0]
            if isinstance(test, ast.If) and not test.orelse:
                mod = _indexed(module, node, test)
                if mod is not None:
                    yield mod


def _indexed(module: PyModule, inner: ast.For, test: ast.If) -> Codemod | None:
    box = dotted(inner.iter)
    target = inner.target
    if not box or not isinstance(target, ast.Name):
        return None
    first, rest = _first_test(test.test)
    sides = _sides(first, target.id)
    outer = outermost(module, inner, [box])
    if sides is None or outer is None or not isinstance(outer, Loop):
        return None
    own, other = sides
    used = {each.id for each in module.walk(own) if isinstance(each, ast.Name)}
    if used - {target.id} or not is_stable(repeated(inner)[1:], target.id):
        return None
    stmt = home(module, outer)
    if stmt is None or not module.starts_line(test):
        return None
    name = module.fresh(f"{box.split('.')[-1]}_by_key")
    key = module.source(own)
    lines = [
        f"{name} = {{}}",
        f"for {target.id} in {box}:",
        f"    {name}.setdefault({key}, []).append({target.id})",
    ]
    edits = [
        module.before(stmt, lines),
        module.replace(inner.iter, f"{name}.get({module.source(other)}, ())"),
        *_without(module, test, rest),
    ]
    return Codemod(
        rule=f"join-by-index {target.id}",
        line=inner.lineno,
        symbol=module.symbol(inner),
        family="architecture",
        prior=0.85,
        title=f"An index of {box} by {key} instead of a search in a loop",
        why=f"for each item of the outer loop all of {box} is searched for an equal key",
        splices=tuple(edits),
    )


def _first_test(test: ast.expr) -> tuple[ast.expr, list[ast.expr]]:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return test.values[0], test.values[1:]
    return test, []


def _sides(test: ast.expr, name: str) -> tuple[ast.expr, ast.expr] | None:
    """Which side of the equation depends on the inner loop's item, and which does not."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    if not isinstance(test.ops[0], ast.Eq):
        return None
    left, right = test.left, test.comparators[0]
    if any(isinstance(each, ast.Call) for each in ast.walk(test)):
        return None

    def uses(side: ast.expr) -> bool:
        return any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(side))

    if uses(left) and not uses(right):
        return left, right
    return (right, left) if uses(right) and not uses(left) else None


def _without(module: PyModule, test: ast.If, rest: list[ast.expr]) -> list[Splice]:
    """Drop the test that the index has answered; what else was asked stays."""
    if rest:
        start = module.span(rest[0])[0]
        return [Splice(module.span(test.test)[0], start, "")]
    if not module.starts_line(test.body[0]):
        return [module.replace(test.test, "True")]
    assert test.test.end_lineno is not None
    assert test.end_lineno is not None
    start = module.offset(test.lineno, 0)
    end = module.offset(test.test.end_lineno + 1, 0)
    header = module.text[module.span(test.test)[1] : end].strip()
    if header.lstrip(") ") != ":" or _has_long_string(test):
        return [module.replace(test.test, "True")]  # a comment or a text would be harmed
    outer, deeper = module.indent(test), module.indent(test.body[0])
    edits = [Splice(start, end, "")]
    for line in range(test.test.end_lineno + 1, test.end_lineno + 1):
        at = module.offset(line, 0)
        if module.text.startswith(deeper, at):
            edits.append(Splice(at, at + len(deeper), outer))
    return edits


def _has_long_string(test: ast.If) -> bool:
    """Lines inside a string must not be moved."""
    return any(
        isinstance(each, ast.Constant | ast.JoinedStr) and each.end_lineno != each.lineno
        for stmt in test.body
        for each in ast.walk(stmt)
    )
