"""Constants, defaults and keyword arguments of Python files, through the syntax tree."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from selfimprove.agents.offline.files import SourceFile
from selfimprove.agents.offline.idea import ChangeIdea
from selfimprove.agents.offline.pymodule import Function, PyModule, dotted
from selfimprove.agents.offline.tunables import Place, Tunable, idea_of, numbered
from selfimprove.syntax import UNPARSABLE

NAME = "python tunables"
LANGUAGES = frozenset({"python"})
_SILENT_CALLS = frozenset({"print", "field", "Field", "add_argument", "TypeVar", "get", "strftime"})
_MEMBERS = ("Enum", "Flag")
_ONE_OF = re.compile(r"#.*?(?:one of:?|choices:?|:)?\s*((?:[\w-]+\s*(?:\||,| or )\s*)+[\w-]+)\s*$")


def find(files: Sequence[SourceFile]) -> list[ChangeIdea]:
    """Give an idea for every constant of these files that could be another."""
    found = []
    for file in files:
        found += [idea for each in tunables(file.text) if (idea := idea_of(file, each))]
    return found


@lru_cache(maxsize=1024)
def tunables(text: str) -> tuple[Tunable, ...]:
    """Give every literal of a module that has a name."""
    try:
        module = PyModule(text)
    except UNPARSABLE:
        return ()
    users = _users(module)
    known = _compared(module)
    found = numbered(_all(module))
    return tuple(_completed(module, each, users, known) for each in found)


def _all(module: PyModule) -> Iterator[Tunable]:
    for node in module.nodes:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            yield from _constant(module, node)
        elif isinstance(node, Function):
            yield from _defaults(module, node)
        elif isinstance(node, ast.Call):
            yield from _keywords(module, node)


def _constant(module: PyModule, node: ast.Assign | ast.AnnAssign) -> Iterator[Tunable]:
    """A name set once at the top of a file or class, or `self.name` set in `__init__`."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    around = module.parents.get(node)
    if len(targets) != 1 or node.value is None:
        return
    name = dotted(targets[0])
    symbol = module.symbol(node)
    if isinstance(around, ast.ClassDef) and any(_last(b).endswith(_MEMBERS) for b in around.bases):
        return
    if isinstance(around, ast.Module | ast.ClassDef) and "." not in name:
        qualified = f"{symbol}.{name}" if symbol else name
    elif (
        name.startswith("self.") and isinstance(around, Function) and around.name == "__init__"
    ) or (name.isupper() and isinstance(around, Function)):
        qualified = f"{symbol}.{name}"
    else:
        return
    if name and _is_literal(node.value):
        yield _tunable(module, qualified, node.value, "constant")


def _defaults(module: PyModule, node: Function) -> Iterator[Tunable]:
    spec = node.args
    plain = [*spec.posonlyargs, *spec.args]
    pairs = list(zip(plain[len(plain) - len(spec.defaults) :], spec.defaults, strict=True))
    pairs += [
        (arg, value)
        for arg, value in zip(spec.kwonlyargs, spec.kw_defaults, strict=True)
        if value is not None
    ]
    for arg, value in pairs:
        if _is_literal(value):
            yield _tunable(module, f"{module.symbol(node)}.{arg.arg}", value, "default")


def _keywords(module: PyModule, node: ast.Call) -> Iterator[Tunable]:
    callee = dotted(node.func).rsplit(".", 1)[-1]
    if not callee or callee in _SILENT_CALLS:
        return
    symbol = module.symbol(node)
    for keyword in node.keywords:
        if keyword.arg and _is_literal(keyword.value):
            name = f"{symbol}.{callee}.{keyword.arg}" if symbol else f"{callee}.{keyword.arg}"
            yield _tunable(module, name, keyword.value, "keyword")


def _tunable(module: PyModule, name: str, node: ast.expr, place: Place) -> Tunable:
    start, end = module.span(node)
    return Tunable(
        name=name,
        line=node.lineno,
        start=start,
        end=end,
        literal=module.text[start:end],
        place=place,
        symbol=module.symbol(node),
        text=node.value if isinstance(node, ast.Constant) and type(node.value) is str else None,
        value=_computed(node),
    )


def _is_literal(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.fullmatch(r"[A-Za-z][\w-]{0,30}", node.value) is not None
    if isinstance(node, ast.Constant):
        return isinstance(node.value, bool | int | float)
    return isinstance(node, ast.UnaryOp | ast.BinOp) and _number(node) is not None


def _computed(node: ast.expr) -> str:
    value = _number(node) if isinstance(node, ast.UnaryOp | ast.BinOp) else None
    return "" if value is None else repr(value)


def _number(node: ast.expr) -> int | float | None:
    """Work out `-1`, `64 * 1024`, `1 << 16`; nothing that could run away."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        value = node.value
        assert isinstance(value, int | float)
        return value if abs(value) < 1 << 40 else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand)
        return None if inner is None else -inner
    if not isinstance(node, ast.BinOp):
        return None
    left, right = _number(node.left), _number(node.right)
    if left is None or right is None:
        return None
    if isinstance(node.op, ast.Mult):
        return left * right
    small = isinstance(left, int) and isinstance(right, int) and 0 <= right <= 40
    if small and isinstance(node.op, ast.LShift | ast.Pow) and abs(left) <= 64:
        return int(left) << int(right) if isinstance(node.op, ast.LShift) else left**right
    return None


def _users(module: PyModule) -> dict[str, tuple[str, ...]]:
    """Name -> the functions that read it, as a name or as the last part of a chain."""
    found: dict[str, dict[str, None]] = {}
    for node in module.nodes:
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            name = node.id if isinstance(node, ast.Name) else node.attr
            found.setdefault(name, {})[module.symbol(node)] = None
    return {name: tuple(each for each in symbols if each) for name, symbols in found.items()}


def _compared(module: PyModule) -> dict[str, frozenset[str]]:
    """Name -> the words the code compares it with, or looks up in a table by it."""
    found: dict[str, set[str]] = {}
    tables = {
        dotted(node.targets[0]): _words(node.value.keys)
        for node in module.nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict)
    }
    for node in module.nodes:
        if isinstance(node, ast.Compare) and len(node.comparators) == 1:
            other = node.comparators[0]
            inside = other.elts if isinstance(other, ast.Tuple | ast.List | ast.Set) else [other]
            found.setdefault(_last(node.left), set()).update(_words(inside))
        elif isinstance(node, ast.Subscript) and dotted(node.value) in tables:
            found.setdefault(_last(node.slice), set()).update(tables[dotted(node.value)])
        elif isinstance(node, ast.Match):
            patterns = [
                c.pattern.value for c in node.cases if isinstance(c.pattern, ast.MatchValue)
            ]
            found.setdefault(_last(node.subject), set()).update(_words(patterns))
        elif isinstance(node, ast.AnnAssign | ast.arg) and node.annotation is not None:
            target = node.arg if isinstance(node, ast.arg) else _last(node.target)
            found.setdefault(target, set()).update(_literal_type(node.annotation))
    return {name: frozenset(words) for name, words in found.items() if name and words}


def _words(nodes: Sequence[ast.expr | None]) -> set[str]:
    values = [node.value for node in nodes if isinstance(node, ast.Constant)]
    return {value for value in values if isinstance(value, str)}


def _literal_type(node: ast.expr) -> set[str]:
    if isinstance(node, ast.Subscript) and _last(node.value) == "Literal":
        return _words(node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice])
    return set()


def _last(node: ast.expr) -> str:
    """The name by which a value goes: `MODE`, `self.mode`, `config["mode"]`."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    return dotted(node).rsplit(".", 1)[-1]


def _completed(
    module: PyModule,
    each: Tunable,
    users: dict[str, tuple[str, ...]],
    known: dict[str, frozenset[str]],
) -> Tunable:
    last = each.name.split("#")[0].rsplit(".", 1)[-1]
    words = known.get(last, frozenset())
    if each.text is not None and not words:
        words = _said_beside(module, each)
    where = users.get(last, ()) if each.place == "constant" else (each.symbol,)
    return replace(each, users=where or ((each.symbol,) if each.symbol else ()), known=words)


def _said_beside(module: PyModule, each: Tunable) -> frozenset[str]:
    """Words that a comment on the same line offers: `# linear, binary or hash`."""
    rest = module.text[each.end :].split("\n", 1)[0]
    match = _ONE_OF.search(rest)
    return frozenset(re.findall(r"[\w-]+", match[1])) - {"or"} if match else frozenset()
