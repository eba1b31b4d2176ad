"""Lists that are used as something else become that: a set, an ordered set, a deque."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from selfimprove.agents.offline.codemods import Codemod
from selfimprove.agents.offline.edits import Splice
from selfimprove.agents.offline.pymodule import Function, PyModule, dotted
from selfimprove.agents.offline.rewrites.stable import bound_in


def find(module: PyModule) -> Iterator[Codemod]:
    """Give a rewrite for each list of a function that would do better as another container."""
    for function in module.functions:
        for node in module.walk(function):
            if not isinstance(node, ast.Assign) or len(node.targets) != 1:
                continue
            target = node.targets[0]
            owned = module.function(node) is function and isinstance(target, ast.Name)
            if owned and isinstance(target, ast.Name) and _is_list(node.value):
                uses = _uses(module, function, target)
                mods = (_as_set(module, node, uses), _as_deque(module, node, uses))
                yield from (mod for mod in mods if mod is not None)
    for each in module.nodes:
        if isinstance(each, ast.ClassDef):
            yield from _deque_attributes(module, each)


def _is_list(value: ast.expr) -> bool:
    made = isinstance(value, ast.Call) and dotted(value.func) == "list" and not value.keywords
    return made or isinstance(value, ast.List | ast.ListComp)


def _is_empty(value: ast.expr) -> bool:
    if isinstance(value, ast.List):
        return not value.elts
    return isinstance(value, ast.Call) and not value.args


def _uses(module: PyModule, function: Function, target: ast.Name) -> list[ast.expr] | None:
    """Every place where the name is read; None where it is bound twice or seen by closures."""
    if bound_in(function, target.id) != 1:
        return None
    found: list[ast.expr] = []
    for each in module.walk(function):
        if isinstance(each, ast.Name) and each.id == target.id and each is not target:
            if module.function(each) is not function:
                return None
            found.append(each)
        elif isinstance(each, ast.Global | ast.Nonlocal) and target.id in each.names:
            return None
    return found


def _method_of(module: PyModule, node: ast.expr) -> tuple[str, ast.Call | None]:
    """Give the method that is called on a value, and the call."""
    up = module.parents[node]
    call = module.parents.get(up)
    if isinstance(up, ast.Attribute) and isinstance(call, ast.Call) and call.func is up:
        return up.attr, call
    return "", None


def _is_membership(module: PyModule, node: ast.expr) -> bool:
    up = module.parents[node]
    return (
        isinstance(up, ast.Compare)
        and node in up.comparators
        and all(isinstance(op, ast.In | ast.NotIn) for op in up.ops)
    )


def _as_set(module: PyModule, node: ast.Assign, uses: list[ast.expr] | None) -> Codemod | None:
    """`seen = []`, appended to and asked for membership: a set, or a dict where order is used."""
    if not uses or not _is_empty(node.value):
        return None
    name = dotted(node.targets[0])
    asked = [use for use in uses if _is_membership(module, use)]
    added = [use for use in uses if _method_of(module, use)[0] == "append"]
    others = [use for use in uses if use not in asked and use not in added]
    if not asked or not added:
        return None
    if not others:
        return _set_of(module, node, name, added)
    guarded = all(_is_guarded(module, use, name) for use in added)
    if guarded and all(_is_ordered_use(module, use) for use in others):
        return _dict_of(module, node, name, (added, others))
    return None


def _set_of(module: PyModule, node: ast.Assign, name: str, added: list[ast.expr]) -> Codemod | None:
    edits = [module.replace(node.value, "set()")]
    for use in added:
        attribute = module.parents[use]
        assert isinstance(attribute, ast.Attribute)
        edits.append(module.replace(attribute, f"{name}.add"))
    return _mod(module, node, "list-to-set", f"{name} as a set instead of a list", edits)


def _dict_of(
    module: PyModule, node: ast.Assign, name: str, uses: tuple[list[ast.expr], list[ast.expr]]
) -> Codemod | None:
    added, others = uses
    edits = [module.replace(node.value, "{}")]
    for use in added:
        call = _method_of(module, use)[1]
        assert call is not None
        edits.append(module.replace(call, f"{name}[{module.source(call.args[0])}] = None"))
    returned = [use for use in others if isinstance(module.parents[use], ast.Return)]
    edits += [module.replace(use, f"list({name})") for use in returned]
    title = f"{name} as a dict that keeps order instead of a list"
    return _mod(module, node, "list-to-ordered-set", title, edits)


def _is_guarded(module: PyModule, use: ast.expr, name: str) -> bool:
    """`if x not in seen: seen.append(x)`: nothing is in it twice."""
    call = _method_of(module, use)[1]
    if call is None or len(call.args) != 1 or not isinstance(module.parents[call], ast.Expr):
        return False
    wanted = ast.dump(call.args[0])
    return any(
        isinstance(up, ast.If)
        and isinstance(up.test, ast.Compare)
        and isinstance(up.test.ops[0], ast.NotIn)
        and dotted(up.test.comparators[0]) == name
        and ast.dump(up.test.left) == wanted
        and any(call in module.walk(stmt) for stmt in up.body)
        for up in module.ancestors(call)
    )


def _is_ordered_use(module: PyModule, use: ast.expr) -> bool:
    """Returned (as a list again), walked through, or counted."""
    up = module.parents[use]
    walked = isinstance(up, ast.For | ast.comprehension) and up.iter is use
    counted = isinstance(up, ast.Call) and dotted(up.func) in ("len", "sum", "sorted", "tuple")
    return isinstance(up, ast.Return) or walked or counted


def _as_deque(module: PyModule, node: ast.Assign, uses: list[ast.expr] | None) -> Codemod | None:
    name = dotted(node.targets[0])
    header = module.import_of("collections")
    if not uses or header is None:
        return None
    edits = _deque_edits(module, uses)
    if not edits:
        return None
    given = "" if _is_empty(node.value) else module.source(node.value)
    edits += [*header, module.replace(node.value, f"collections.deque({given})")]
    return _mod(module, node, "list-to-deque", f"{name} as a deque instead of a list", edits)


def _deque_edits(module: PyModule, uses: list[ast.expr]) -> list[Splice]:
    """Edits of uses at the front, or none where a use needs a list or the front is not used."""
    edits: list[Splice] = []
    for use in uses:
        method, call = _method_of(module, use)
        first = call.args[0] if call is not None and call.args else None
        zero = isinstance(first, ast.Constant) and first.value == 0
        if call is not None and method == "pop" and zero:
            edits.append(module.replace(call, f"{module.source(use)}.popleft()"))
        elif call is not None and method == "insert" and zero and len(call.args) == 2:
            given = module.source(call.args[1])
            edits.append(module.replace(call, f"{module.source(use)}.appendleft({given})"))
        elif not _deque_can(module, use, method, first):
            return []
    return edits


def _deque_can(module: PyModule, use: ast.expr, method: str, first: ast.expr | None) -> bool:
    if method:
        plain = method in ("append", "extend", "clear", "remove", "count", "index", "reverse")
        return plain or (method == "pop" and first is None)
    up = module.parents[use]
    if isinstance(up, ast.Call):
        return dotted(up.func) in ("len", "bool", "list", "sum", "any", "all", "sorted", "set")
    if isinstance(up, ast.Subscript):
        return not isinstance(up.slice, ast.Slice) and isinstance(up.ctx, ast.Load)
    tests = (ast.While, ast.If, ast.For, ast.comprehension, ast.UnaryOp, ast.BoolOp)
    return isinstance(up, tests) or _is_membership(module, use)


def _deque_attributes(module: PyModule, cls: ast.ClassDef) -> Iterator[Codemod]:
    """`self.queue`, made as a list once and used at its front by the methods of its class."""
    header = module.import_of("collections")
    places: dict[str, list[ast.expr]] = {}
    made: dict[str, list[ast.Assign]] = {}
    for node in module.walk(cls):
        if isinstance(node, ast.Attribute) and dotted(node).startswith("self."):
            up = module.parents[node]
            chain = dotted(node)
            if isinstance(up, ast.Assign) and node in up.targets:
                made.setdefault(chain, []).append(up)
            elif chain.count(".") == 1:
                places.setdefault(chain, []).append(node)
    for chain, assigns in made.items():
        outside = module.text.count(f".{chain[5:]}") != len(assigns) + len(places.get(chain, ()))
        if header is None or len(assigns) != 1 or outside or not _is_list(assigns[0].value):
            continue
        edits = _deque_edits(module, places.get(chain, []))
        if edits:
            value = assigns[0].value
            given = "" if _is_empty(value) else module.source(value)
            edits += [*header, module.replace(value, f"collections.deque({given})")]
            title = f"{chain} as a deque instead of a list"
            mod = _mod(module, assigns[0], "list-to-deque", title, edits)
            if mod is not None:
                yield mod


_WHY = {
    "list-to-set": "whether something is in a list is found by a scan, in a set by its hash",
    "list-to-ordered-set": "whether something is in a list is found by a scan, in a dict by hash",
    "list-to-deque": "taking from the front of a list moves all that follows",
}


def _mod(
    module: PyModule, node: ast.Assign, rule: str, title: str, edits: list[Splice]
) -> Codemod | None:
    return Codemod(
        rule=f"{rule} {dotted(node.targets[0])}",
        line=node.lineno,
        symbol=module.symbol(node),
        family="architecture",
        prior=0.8,
        title=title,
        why=_WHY[rule],
        splices=tuple(edits),
    )
