"""What the text below a record's field says of it: read when a schema is asked for.

pydantic's `use_attribute_docstrings` reads it while each class is made, which every start of a
command pays for.
"""

from __future__ import annotations

import ast
import inspect
import sys
from functools import cache

from selfimprove import syntax

Docs = dict[str, str]


@cache
def attribute_docs(cls: type) -> Docs:
    """Field -> what is said below it, of a class and of those it is made from."""
    found: Docs = {}
    for base in reversed(cls.__mro__):
        if base.__module__ != "builtins":
            found |= _module_docs(base.__module__).get(base.__qualname__, {})
    return found


@cache
def _module_docs(name: str) -> dict[str, Docs]:
    try:
        tree = syntax.parse(inspect.getsource(sys.modules[name]))
    except OSError:  # a program without its source text
        return {}
    return {node.name: _docs(node) for node in tree.body if isinstance(node, ast.ClassDef)}


def _docs(node: ast.ClassDef) -> Docs:
    docs = {}
    for field, below in zip(node.body, node.body[1:], strict=False):
        match field, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                docs[name] = inspect.cleandoc(text)
    return docs
