"""Whether a value stays the same while a loop runs, judged by syntax alone and cautiously."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from selfimprove.agents.offline.pymodule import COMPREHENSIONS, Function, Loop, PyModule, dotted
from selfimprove.agents.offline.wordlist import words

READING = words(
    """
    index count get keys values items copy startswith endswith split strip join lower upper
    find format isdigit isalpha encode decode most_common union intersection difference
    issubset issuperset bit_length
    """
)
"""Methods that leave their object as it was."""

PURE = words(
    """
    len sum min max sorted any all abs round int float str bool repr list tuple set
    frozenset dict enumerate range zip reversed map filter isinstance hash ord chr divmod
    pow print type id format
    """
)
"""Builtins that leave their arguments as they were."""

LOOPING = (ast.For, ast.While, ast.AsyncFor, *COMPREHENSIONS)


def repeated(loop: ast.AST) -> list[ast.AST]:
    """Give the parts of a loop or comprehension that run once for each item."""
    if isinstance(loop, ast.While):
        return [loop.test, *loop.body]
    if isinstance(loop, ast.For | ast.AsyncFor):
        return [loop.target, *loop.body]
    assert isinstance(loop, COMPREHENSIONS)
    first, *rest = loop.generators
    element = [loop.key, loop.value] if isinstance(loop, ast.DictComp) else [loop.elt]
    return [first.target, *first.ifs, *rest, *element]


def nodes_of(parts: list[ast.AST]) -> Iterator[ast.AST]:
    """Walk several parts of a tree."""
    for part in parts:
        yield from ast.walk(part)


def is_stable(parts: list[ast.AST], chain: str) -> bool:
    """Whether nothing in these parts binds, changes or hands away `chain` (`xs`, `self.xs`)."""
    root = chain.split(".")[0]
    return not any(_disturbs(node, chain, root) for node in nodes_of(parts))


def _disturbs(node: ast.AST, chain: str, root: str) -> bool:
    if isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Starred):
        if not isinstance(node.ctx, ast.Load):
            target = node.value if isinstance(node, ast.Subscript) else node
            return _within(dotted(target), chain)
        return False
    if isinstance(node, ast.Call):
        return _call_disturbs(node, chain, root)
    if isinstance(node, ast.Yield | ast.YieldFrom | ast.Await):
        return "." in chain
    if isinstance(node, ast.NamedExpr):
        return node.target.id == root
    return False


def _call_disturbs(node: ast.Call, chain: str, root: str) -> bool:
    func = node.func
    if isinstance(func, ast.Attribute):
        receiver = dotted(func.value)
        if receiver == chain and func.attr not in READING:
            return True
        if "." in chain and receiver == root:
            return True  # a method of the object may change what it holds
    if isinstance(func, ast.Name) and func.id in PURE:
        return False
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    handed = {dotted(arg.value if isinstance(arg, ast.Starred) else arg) for arg in given}
    reading = isinstance(func, ast.Attribute) and func.attr in READING
    return not reading and (chain in handed or root in handed)


def _within(target: str, chain: str) -> bool:
    """Binding `self.a` changes `self.a` and `self.a.b`; binding `self` changes all of them."""
    return bool(target) and (chain == target or chain.startswith(target + "."))


def outermost(module: PyModule, node: ast.AST, chains: list[str]) -> ast.AST | None:
    """Give the outermost loop of a function that repeats a node and leaves every chain alone."""
    best, path = None, {node}
    for up in module.ancestors(node):
        if isinstance(up, Function | ast.Lambda | ast.ClassDef):
            break
        parts = repeated(up) if isinstance(up, LOOPING) else []
        if any(part in path for part in parts):
            if not all(is_stable(parts, chain) for chain in chains):
                break
            best = up
        path.add(up)
    return best


def home(module: PyModule, loop: ast.AST) -> ast.stmt | None:
    """Give the statement before which a hoisted value can be computed, if lines can go there."""
    stmt = loop if isinstance(loop, Loop) else module.statement(loop)
    around = module.parents.get(stmt)
    is_elif = isinstance(around, ast.If) and stmt in around.orelse and _is_elif(module, stmt)
    if not module.starts_line(stmt) or is_elif or isinstance(stmt, Function | ast.ClassDef):
        return None
    return stmt


def _is_elif(module: PyModule, stmt: ast.stmt) -> bool:
    return isinstance(stmt, ast.If) and module.source(stmt).startswith("elif")


def bound_in(function: ast.AST, name: str) -> int:
    """Count how often a name is bound in a function, its parameters included."""
    count = 0
    for node in ast.walk(function):
        if (
            isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)
        ) or (isinstance(node, ast.arg) and node.arg == name):
            count += 1
    return count


def is_listy(module: PyModule, node: ast.AST, chain: str) -> bool:
    """Whether some binding of a name shows a list or tuple and none shows anything else."""
    scope: ast.AST = module.function(node) or module.tree
    found: list[bool] = []
    for top in (scope, module.tree):
        for each in module.walk(top):
            if isinstance(each, ast.Assign) and chain in map(dotted, each.targets):
                found.append(_makes_list(each.value))
            elif (isinstance(each, ast.AnnAssign) and dotted(each.target) == chain) or (
                isinstance(each, ast.arg) and each.arg == chain and each.annotation is not None
            ):
                found.append(_annotated_list(each.annotation))
        if found:
            break
    return bool(found) and all(found)


def _makes_list(value: ast.expr) -> bool:
    if isinstance(value, ast.List | ast.ListComp | ast.Tuple):
        return True
    if isinstance(value, ast.BinOp):
        return _makes_list(value.left) or _makes_list(value.right)
    if not isinstance(value, ast.Call):
        return False
    name = dotted(value.func).rsplit(".", 1)[-1]
    by_method = isinstance(value.func, ast.Attribute) and value.func.attr
    return name in ("list", "sorted", "tuple") or by_method in ("split", "splitlines", "readlines")


def _annotated_list(node: ast.expr | None) -> bool:
    base = node.value if isinstance(node, ast.Subscript) else node
    name = dotted(base).rsplit(".", 1)[-1]
    return name in ("list", "List", "tuple", "Tuple", "Sequence", "Iterable", "Collection")
