"""Loops over positions, running totals, and sorting after each insertion."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from selfimprove.agents.offline.codemods import Codemod
from selfimprove.agents.offline.edits import Splice
from selfimprove.agents.offline.pymodule import PyModule, dotted
from selfimprove.agents.offline.rewrites.stable import is_stable, nodes_of


def find(module: PyModule) -> Iterator[Codemod]:
    """Give a rewrite for each loop that a builtin or a plainer loop does better."""
    for node in module.nodes:
        if isinstance(node, ast.For) and not node.orelse:
            mod = _positions(module, node) or _total(module, node)
            if mod is not None:
                yield mod
        for body in (getattr(node, "body", None), getattr(node, "orelse", None)):
            if isinstance(body, list):
                yield from _insertions(module, body)


def _positions(module: PyModule, node: ast.For) -> Codemod | None:
    """`for i in range(len(xs))` that only reads `xs[i]`."""
    call = node.iter
    index = node.target
    if not isinstance(index, ast.Name) or not isinstance(call, ast.Call) or len(call.args) != 1:
        return None
    inner = call.args[0]
    if dotted(call.func) != "range" or not isinstance(inner, ast.Call) or len(inner.args) != 1:
        return None
    chain = dotted(inner.args[0])
    parts: list[ast.AST] = list(node.body)
    if dotted(inner.func) != "len" or not chain or not is_stable(parts, chain):
        return None
    if not is_stable(parts, index.id):
        return None
    reads, others = [], 0
    for each in nodes_of(parts):
        if isinstance(each, ast.Name) and each.id == index.id:
            up = module.parents[each]
            exact = isinstance(up, ast.Subscript) and up.slice is each and dotted(up.value) == chain
            if exact and isinstance(up, ast.Subscript):
                reads.append(up)
            else:
                others += 1
    after = _used_after(module, node, index.id)
    if not reads or after:
        return None
    item = module.fresh(f"{chain.split('.')[-1].strip('_').rstrip('s') or 'each'}_item")
    if others:
        edits = [module.replace(index, f"{index.id}, {item}")]
        edits.append(module.replace(call, f"enumerate({chain})"))
    else:
        edits = [module.replace(index, item), module.replace(call, chain)]
    edits += [module.replace(read, item) for read in reads]
    return _mod(module, node, "loop-over-items", f"A loop over the items of {chain}", edits)


def _used_after(module: PyModule, node: ast.For, name: str) -> bool:
    inside = set(module.walk(node))
    scope = module.function(node) or module.tree
    return any(
        isinstance(each, ast.Name) and each.id == name and each not in inside
        and isinstance(each.ctx, ast.Load) and each.lineno > node.lineno
        for each in module.walk(scope)
    )  # fmt: skip


def _total(module: PyModule, node: ast.For) -> Codemod | None:
    """`for x in xs: total += f(x)` with nothing else in the loop."""
    step = node.body[0]
    if len(node.body) != 1 or not isinstance(step, ast.AugAssign):
        return None
    if not isinstance(step.op, ast.Add) or not isinstance(step.target, ast.Name):
        return None
    total = step.target.id
    if "#" in module.source(node):
        return None  # a comment would be lost
    if any(isinstance(e, ast.Name) and e.id == total for e in module.walk(step.value)):
        return None
    textual = (ast.Constant, ast.JoinedStr, ast.List, ast.Tuple)
    if isinstance(step.value, textual) and not _is_number(step.value):
        return None
    over, what = module.source(node.iter), module.source(step.value)
    target = module.source(node.target)
    inner = over if what == target else f"[{what} for {target} in {over}]"
    edits = [module.replace(node, f"{total} += sum({inner})")]
    return _mod(
        module, node, f"sum-of-loop {total}", f"sum instead of a loop that adds up {total}", edits
    )


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _insertions(module: PyModule, body: list[ast.stmt]) -> Iterator[Codemod]:
    """`xs.append(v)` and at once `xs.sort()`: insertion at the right place."""
    for first, second in pairwise(body):
        added, ordered = _call_of(first, "append"), _call_of(second, "sort")
        if added is None or ordered is None or ordered.args or ordered.keywords:
            continue
        chain = dotted(added.func).removesuffix(".append")
        header = module.import_of("bisect")
        if dotted(ordered.func) != f"{chain}.sort" or len(added.args) != 1 or header is None:
            continue
        if not module.starts_line(first) or not module.starts_line(second):
            continue
        start = module.span(first)[0]
        new = f"bisect.insort({chain}, {module.source(added.args[0])})"
        edits = [*header, Splice(start, module.span(second)[1], new)]
        title = f"{chain} kept in order by insertion instead of sorting each time"
        yield _mod(module, first, f"insort {chain}", title, edits)


def _call_of(stmt: ast.stmt, method: str) -> ast.Call | None:
    call = stmt.value if isinstance(stmt, ast.Expr) else None
    named = isinstance(call, ast.Call) and dotted(call.func).endswith(f".{method}")
    return call if named and isinstance(call, ast.Call) else None


_ABOUT = {
    "loop-over-items": (0.35, "each item is looked up by its position"),
    "sum-of-loop": (0.4, "sum adds in C what the loop adds by bytecode"),
    "insort": (0.75, "the whole list is sorted again after each insertion"),
}


def _mod(module: PyModule, node: ast.stmt, rule: str, title: str, edits: list[Splice]) -> Codemod:
    prior, why = _ABOUT[rule.split()[0]]
    return Codemod(
        rule=rule,
        line=node.lineno,
        symbol=module.symbol(node),
        family="optimization",
        prior=prior,
        title=title,
        why=why,
        splices=tuple(edits),
    )
