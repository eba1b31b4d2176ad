"""Functions that give the same answer to the same arguments remember it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from selfimprove.agents.offline.codemods import Codemod
from selfimprove.agents.offline.pymodule import Function, PyModule, dotted
from selfimprove.agents.offline.wordlist import words

PURE_BUILTINS = words(
    """
    len sum min max sorted any all abs round int float str bool repr list tuple set
    frozenset dict enumerate range zip reversed map filter isinstance hash ord chr divmod
    pow type ValueError TypeError KeyError IndexError
    """
)
PURE_METHODS = words(
    """
    append add extend insert pop update setdefault remove sort reverse get keys values items
    index count split rsplit strip lstrip rstrip join lower upper title replace startswith
    endswith find format isdigit isalpha isalnum encode decode partition rpartition
    splitlines zfill bit_length as_integer_ratio copy union intersection difference
    """
)
PURE_MODULES = frozenset({"math", "cmath", "operator", "itertools", "functools", "re", "string"})
_HASHABLE = frozenset({"int", "float", "str", "bool", "bytes", "complex", "tuple", "Tuple"})
_EFFECTS = (
    ast.Global,
    ast.Nonlocal,
    ast.Yield,
    ast.YieldFrom,
    ast.Await,
    ast.Import,
    ast.ImportFrom,
    ast.With,
    ast.AsyncWith,
    ast.Delete,
)


def find(module: PyModule) -> Iterator[Codemod]:
    """Give a rewrite for each function at the top of a file that seems to have no effects."""
    tops = {node.name: node for node in module.tree.body if isinstance(node, ast.FunctionDef)}
    pure = _pure(module, tops)
    header = module.import_of("functools")
    if header is None:
        return
    for name, node in tops.items():
        if name not in pure or node.decorator_list or not _worth_it(node):
            continue
        if not module.starts_line(node) or _gives_mutable(node):
            continue
        recursive = sum(name == dotted(c.func) for c in _calls(node)) >= 1
        scalar = _takes_scalars(node)
        if not scalar and not recursive and not _callers_in_loops(module, name):
            continue
        yield Codemod(
            rule="cache-function",
            line=node.lineno,
            symbol=name,
            family="architecture",
            prior=(0.8 if recursive else 0.5) if scalar else 0.25,
            title=f"Remembered answers of {name}",
            why="it calls itself with arguments it has seen"
            if recursive
            else "it has no effects, and the same arguments give the same answer again",
            splices=(*header, module.before(node, ["@functools.lru_cache(maxsize=None)"])),
            safe=scalar,
        )


def _pure(module: PyModule, tops: dict[str, ast.FunctionDef]) -> set[str]:
    """The functions without effects: those that call none but builtins and one another."""
    unsettled = _unsettled(module)
    pure = {name for name, node in tops.items() if _has_no_effects(node, unsettled)}
    while True:
        allowed = pure | PURE_BUILTINS
        left = {
            name
            for name in pure
            if all(_is_allowed(call, tops[name], allowed) for call in _calls(tops[name]))
        }
        if left == pure:
            return pure
        pure = left


def _unsettled(module: PyModule) -> set[str]:
    """Names of the file's top that may not always hold the same: all but plain constants."""
    bound: dict[str, int] = {}
    for node in module.nodes:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            if module.function(node) is None:
                bound[node.id] = bound.get(node.id, 0) + 1
        elif isinstance(node, ast.Global):
            bound.update(dict.fromkeys(node.names, 2))
    simple = {
        target.id
        for node in module.tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
        and (target.id.isupper() or isinstance(node.value, ast.Constant | ast.Tuple))
    }
    return {name for name, count in bound.items() if count > 1 or name not in simple}


def _has_no_effects(node: ast.FunctionDef, unsettled: set[str]) -> bool:
    spec = node.args
    if not spec.args or spec.vararg or spec.kwarg or spec.kwonlyargs:
        return False
    params = {arg.arg for arg in [*spec.posonlyargs, *spec.args]}
    local = params | {
        each.id
        for each in ast.walk(node)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }
    for each in ast.walk(node):
        if isinstance(each, _EFFECTS) or (isinstance(each, Function) and each is not node):
            return False
        if isinstance(each, ast.Attribute) and not isinstance(each.ctx, ast.Load):
            return False
        stored = isinstance(each, ast.Subscript) and not isinstance(each.ctx, ast.Load)
        if stored and isinstance(each, ast.Subscript) and dotted(each.value) not in local - params:
            return False
        if isinstance(each, ast.Call) and _changes_argument(each, params):
            return False
        if isinstance(each, ast.Name) and each.id in unsettled - local:
            return False
    return True


def _changes_argument(call: ast.Call, params: set[str]) -> bool:
    changing = ("append", "add", "extend", "insert", "pop", "update", "setdefault", "remove")
    func = call.func
    return (
        isinstance(func, ast.Attribute)
        and func.attr in (*changing, "sort", "reverse", "clear")
        and dotted(func.value).split(".")[0] in (*params, "")
    )


def _is_allowed(call: ast.Call, node: ast.FunctionDef, allowed: set[str] | frozenset[str]) -> bool:
    func = call.func
    if isinstance(func, ast.Name):
        return func.id in allowed or func.id == node.name
    if isinstance(func, ast.Attribute):
        root = dotted(func.value).split(".")[0]
        return root in PURE_MODULES or (func.attr in PURE_METHODS and root != "self")
    return False


def _calls(node: ast.AST) -> list[ast.Call]:
    return [each for each in ast.walk(node) if isinstance(each, ast.Call)]


def _worth_it(node: ast.FunctionDef) -> bool:
    """A line of arithmetic is cheaper than the look-up of its remembered answer."""
    busy = (ast.For, ast.While, ast.Call, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
    returns = any(isinstance(each, ast.Return) and each.value for each in ast.walk(node))
    return returns and any(isinstance(each, busy) for each in ast.walk(node))


def _gives_mutable(node: ast.FunctionDef) -> bool:
    """What is remembered is shared: a list or dict that callers might change is not offered."""
    made = {
        dotted(each.targets[0])
        for each in ast.walk(node)
        if isinstance(each, ast.Assign) and _mutable(each.value)
    }
    returned = [e.value for e in ast.walk(node) if isinstance(e, ast.Return) and e.value]
    return any(_mutable(value) or dotted(value) in made for value in returned)


def _mutable(value: ast.expr) -> bool:
    made = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    by_call = isinstance(value, ast.Call) and dotted(value.func) in (
        "list", "dict", "set", "sorted", "map", "filter", "zip", "reversed", "enumerate"
    )  # fmt: skip
    return isinstance(value, made) or by_call


def _takes_scalars(node: ast.FunctionDef) -> bool:
    """Whether no argument is walked through or looked into, so that each can be hashed."""
    args = [*node.args.posonlyargs, *node.args.args]
    notes = {a.arg: dotted(_base(a.annotation)) for a in args if a.annotation is not None}
    if any(note not in _HASHABLE for note in notes.values()):
        return False
    unknown = {arg.arg for arg in args} - set(notes)
    for each in ast.walk(node):
        held = None
        if isinstance(each, ast.For | ast.comprehension):
            held = each.iter
        elif isinstance(each, ast.Subscript | ast.Attribute | ast.Starred):
            held = each.value
        elif isinstance(each, ast.Call) and dotted(each.func) in ("len", "sum", "sorted", "list"):
            held = each.args[0] if each.args else None
        if held is not None and dotted(held) in unknown:
            return False
    return True


def _base(node: ast.expr) -> ast.expr:
    return node.value if isinstance(node, ast.Subscript) else node


def _callers_in_loops(module: PyModule, name: str) -> bool:
    looping = (ast.For, ast.While, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
    return any(
        isinstance(up, looping)
        for call in _calls(module.tree)
        if dotted(call.func) == name
        for up in module.ancestors(call)
    )
