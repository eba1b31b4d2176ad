"""Classes without a dict for each object, and regular expressions compiled once."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from selfimprove.agents.offline.codemods import Codemod
from selfimprove.agents.offline.edits import Splice
from selfimprove.agents.offline.pymodule import Function, PyModule, dotted

_RE_METHODS = frozenset({"match", "search", "fullmatch", "findall", "finditer", "sub", "split"})
_DYNAMIC = frozenset({"setattr", "vars", "__dict__", "__slots__", "cached_property", "__getattr__"})
_HARMLESS = frozenset({"property", "staticmethod", "classmethod"})
"""Decorators of methods that know nothing of an object's dict."""


def find(module: PyModule) -> Iterator[Codemod]:
    """Give a rewrite for each class that could have slots and each pattern compiled in a call."""
    dynamic = {each.attr for each in module.nodes if isinstance(each, ast.Attribute)}
    if not (module.names | dynamic) & _DYNAMIC:
        for node in module.nodes:
            mod = _slots(module, node) if isinstance(node, ast.ClassDef) else None
            if mod is not None:
                yield mod
    yield from _patterns(module)


def _slots(module: PyModule, node: ast.ClassDef) -> Codemod | None:
    plain = not node.bases or [dotted(base) for base in node.bases] == ["object"]
    first = node.body[0]
    if not plain or node.keywords or not module.starts_line(first):
        return None
    decorated = {dotted(d.func if isinstance(d, ast.Call) else d) for d in node.decorator_list}
    edits = _dataclass_slots(module, node) if decorated else _plain_slots(module, node)
    if not edits:
        return None
    return Codemod(
        rule="slots",
        line=node.lineno,
        symbol=module.symbol(node),
        family="architecture",
        prior=0.4,
        title=f"Slots for {node.name} instead of a dict for each object",
        why="attributes at fixed places are read faster and take less memory than those of a dict",
        splices=tuple(edits),
        users=tuple(module.symbol(each) for each in node.body if isinstance(each, Function)),
    )


def _dataclass_slots(module: PyModule, node: ast.ClassDef) -> list[Splice]:
    if len(node.decorator_list) != 1:
        return []
    decorator = node.decorator_list[0]
    name = dotted(decorator.func if isinstance(decorator, ast.Call) else decorator)
    if name not in ("dataclass", "dataclasses.dataclass"):
        return []
    if not isinstance(decorator, ast.Call):
        return [module.replace(decorator, f"{name}(slots=True)")]
    if any(keyword.arg == "slots" for keyword in decorator.keywords):
        return []
    last = decorator.keywords[-1].value if decorator.keywords else None
    if last is None:
        return [module.replace(decorator, f"{name}(slots=True)")]
    end = module.span(last)[1]
    return [Splice(end, end, ", slots=True")]


def _plain_slots(module: PyModule, node: ast.ClassDef) -> list[Splice]:
    attributes: dict[str, None] = {}
    fields = set()
    for each in node.body:
        if isinstance(each, ast.Assign | ast.AnnAssign):
            targets = each.targets if isinstance(each, ast.Assign) else [each.target]
            fields |= {dotted(target) for target in targets}
        elif isinstance(each, Function) and {dotted(d) for d in each.decorator_list} - _HARMLESS:
            return []
    for attribute in module.walk(node):
        stored = isinstance(attribute, ast.Attribute) and isinstance(attribute.ctx, ast.Store)
        if stored and isinstance(attribute, ast.Attribute) and dotted(attribute.value) == "self":
            attributes[attribute.attr] = None
    methods = {each.name for each in node.body if isinstance(each, Function)}
    outside = {
        each.attr
        for each in module.nodes
        if isinstance(each, ast.Attribute)
        and isinstance(each.ctx, ast.Store)
        and dotted(each.value) != "self"
    }
    if not attributes or set(attributes) & (fields | methods) or outside - set(attributes):
        return []
    names = ", ".join(f'"{name}"' for name in attributes)
    line = f"__slots__ = ({names}{',' if len(attributes) == 1 else ''})"
    docstring = isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant)
    if docstring and len(node.body) == 1:
        return []
    return [module.before(node.body[1 if docstring else 0], [line, ""])]


def _patterns(module: PyModule) -> Iterator[Codemod]:
    """`re.search("…", s)` in a function: the pattern is compiled once at the top of the file."""
    groups: dict[str, list[ast.Call]] = {}
    for node in module.nodes:
        if not isinstance(node, ast.Call) or module.function(node) is None or not node.args:
            continue
        method = dotted(node.func).removeprefix("re.")
        constant = isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str)
        known = dotted(node.func).startswith("re.") and method in (*_RE_METHODS, "compile")
        if known and constant and "re" in module.imported and not _has_flags(node, method):
            groups.setdefault(module.source(node.args[0]), []).append(node)
    place = next((n for n in module.tree.body if isinstance(n, Function | ast.ClassDef)), None)
    if place is None or not module.starts_line(place):
        return
    for pattern, calls in groups.items():
        if "\n" in pattern or any(call.lineno < place.lineno for call in calls):
            continue
        name = module.fresh("_" + module.symbol(calls[0]).split(".")[-1].strip("_").upper() + "_RE")
        lines = [f"{name} = re.compile({pattern})", "", ""]
        edits = [module.before(place, lines), *(_compiled(module, call, name) for call in calls)]
        yield Codemod(
            rule=f"regex-compiled-once {name}",
            line=calls[0].lineno,
            symbol=module.symbol(calls[0]),
            family="data",
            prior=0.5,
            title="A regular expression compiled once instead of looked up on each call",
            why="re looks the pattern up in its cache, or compiles it, on each call",
            splices=tuple(edits),
            users=tuple(dict.fromkeys(module.symbol(call) for call in calls)),
        )


def _has_flags(node: ast.Call, method: str) -> bool:
    """Flags and options as they stand would have to move: left alone."""
    allowed = {"compile": 1, "sub": 3}.get(method, 2)
    return bool(node.keywords) or len(node.args) != allowed


def _compiled(module: PyModule, call: ast.Call, name: str) -> Splice:
    method = dotted(call.func).removeprefix("re.")
    if method == "compile":
        return module.replace(call, name)
    start, end = module.span(call)
    rest = module.text[module.span(call.args[1])[0] : end]
    return Splice(start, end, f"{name}.{method}({rest}")
