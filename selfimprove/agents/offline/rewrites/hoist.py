"""Work that a loop repeats with the same result is done once, before it.

`sum(xs)` inside a loop that leaves `xs` alone; `x in xs` becomes a look-up in a set made once;
`xs.count(x)` and `xs.index(x)` become look-ups in a table made once.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from selfimprove.agents.offline.codemods import Codemod
from selfimprove.agents.offline.edits import Splice
from selfimprove.agents.offline.pymodule import COMPREHENSIONS, PyModule, dotted
from selfimprove.agents.offline.rewrites.stable import home, is_listy, outermost

SCALARS = frozenset({"sum", "min", "max"})
CONTAINERS = frozenset({"sorted", "set", "list", "tuple", "frozenset"})
_READ_PARENTS = (ast.Subscript, ast.Compare)


@dataclass(frozen=True)
class _Spot:
    """Something inside a loop that could be a look-up in a value made before it."""

    kind: str
    chain: str
    loop: ast.AST
    node: ast.expr
    """What is replaced."""
    new: str
    """With `{name}` where the hoisted value's name goes."""
    value: str
    """The expression computed once."""
    suffix: str
    prior: float
    safe: bool
    header: str = ""


def find(module: PyModule) -> Iterator[Codemod]:
    """Give a rewrite for each value that a loop works out again and again."""
    groups: dict[tuple[str, str, ast.AST], list[_Spot]] = {}
    for node in module.nodes:
        spot = None
        if isinstance(node, ast.Call):
            spot = _builtin(module, node) or _method(module, node)
        elif isinstance(node, ast.Compare):
            spot = _membership(module, node)
        if spot is not None:
            groups.setdefault((spot.value, spot.chain, spot.loop), []).append(spot)
    for spots in groups.values():
        mod = _codemod(module, spots)
        if mod is not None:
            yield mod


def _builtin(module: PyModule, node: ast.Call) -> _Spot | None:
    name = dotted(node.func)
    if name not in SCALARS | CONTAINERS or len(node.args) != 1 or node.keywords:
        return None
    chain = dotted(node.args[0])
    if not chain or (name in CONTAINERS and not _only_read(module, node)):
        return None
    loop = outermost(module, node, [chain, name])
    if loop is None or name in module.names - {name}:
        return None
    value = module.source(node)
    if name in ("min", "max"):
        value = f"{value} if {chain} else None"  # the loop may not run at all
    return _Spot("value", chain, loop, node, "{name}", value, name, 0.75, safe=True)


def _only_read(module: PyModule, node: ast.expr) -> bool:
    """Whether the container is looked at where it stands, and neither kept nor changed."""
    up = module.parents[node]
    if isinstance(up, ast.Subscript):
        return up.value is node and isinstance(up.ctx, ast.Load)
    return isinstance(up, ast.Compare) and node in up.comparators


def _membership(module: PyModule, node: ast.Compare) -> _Spot | None:
    if len(node.ops) != 1 or not isinstance(node.ops[0], ast.In | ast.NotIn):
        return None
    box = node.comparators[0]
    chain = dotted(box)
    if not chain or isinstance(node.left, ast.Constant):
        return None
    loop = outermost(module, node, [chain])
    if loop is None:
        return None
    listy = is_listy(module, node, chain)
    if not listy and not _is_parameter(module, node, chain):
        return None
    prior = 0.75 if listy else 0.3
    return _Spot("set", chain, loop, box, "{name}", f"set({chain})", "set", prior, safe=listy)


def _is_parameter(module: PyModule, node: ast.AST, chain: str) -> bool:
    """A parameter without annotation may be a list: believed less, and measured."""
    function = module.function(node)
    if function is None or "." in chain or chain in ("self", "cls"):
        return False
    args = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return any(arg.arg == chain and arg.annotation is None for arg in args)


def _method(module: PyModule, node: ast.Call) -> _Spot | None:
    func = node.func
    if not isinstance(func, ast.Attribute) or len(node.args) != 1 or node.keywords:
        return None
    chain = dotted(func.value)
    if not chain or func.attr not in ("count", "index") or isinstance(node.args[0], ast.Constant):
        return None
    loop = outermost(module, node, [chain])
    if loop is None or not is_listy(module, node, chain):
        return None
    wanted = module.source(node.args[0])
    if func.attr == "count":
        value = f"collections.Counter({chain})"
        new = "{name}[" + wanted + "]"
        return _Spot("count", chain, loop, node, new, value, "counts", 0.8, True, "collections")
    value = f"{{v: i for i, v in reversed(list(enumerate({chain})))}}"
    new = "{name}[" + wanted + "]"
    return _Spot("index", chain, loop, node, new, value, "positions", 0.6, safe=False)


_TITLES = {
    "value": "{value} worked out once, before the loop",
    "set": "Membership in {chain} by a set made once",
    "count": "All of {chain} counted once, before the loop",
    "index": "Positions in {chain} looked up in a table made once",
}
_WHYS = {
    "value": "each pass works out the same value over the whole of {chain}",
    "set": "each pass scans {chain}; a set answers without a scan",
    "count": "each pass counts through the whole of {chain}",
    "index": "each pass searches {chain} from its start",
}


def _codemod(module: PyModule, spots: list[_Spot]) -> Codemod | None:
    first = spots[0]
    stmt = home(module, first.loop)
    if stmt is None or _behind_condition(module, first, stmt):
        return None
    header = module.import_of(first.header) if first.header else []
    if header is None:
        return None
    name = module.fresh(f"{first.chain.split('.')[-1].strip('_')}_{first.suffix}")
    edits: list[Splice] = [*header, module.before(stmt, [f"{name} = {first.value}"])]
    edits += [module.replace(spot.node, spot.new.format(name=name)) for spot in spots]
    shown = first.value.split(" if ")[0]
    return Codemod(
        rule=f"hoist-{first.kind}",
        line=first.node.lineno,
        symbol=module.symbol(first.node),
        family="optimization" if first.kind == "value" else "architecture",
        prior=first.prior,
        title=_TITLES[first.kind].format(value=shown, chain=first.chain),
        why=_WHYS[first.kind].format(chain=first.chain),
        splices=tuple(edits),
        safe=first.safe and all(spot.safe for spot in spots),
    )


def _behind_condition(module: PyModule, spot: _Spot, stmt: ast.stmt) -> bool:
    """A comprehension's names exist only inside it, a lambda's only when it is called."""
    names = {spot.chain.split(".")[0]}
    for up in [spot.loop, *module.ancestors(spot.loop)]:
        if up is stmt:
            return False
        if isinstance(up, ast.Lambda):
            return True
        if isinstance(up, COMPREHENSIONS):
            inner = {
                n.id for g in up.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)
            }
            if names & inner:
                return True
    return False
