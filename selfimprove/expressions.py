"""The form of expressions such as `accuracy >= 0.98`; they are stored as text, checked here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+)|(?P<name>[A-Za-z_](?:[\w.]*\w)?)"
    r"|(?P<compare><=|>=|==|!=|<|>)|(?P<join>&&|\|\|)|(?P<open>\()|(?P<close>\))|(?P<op>[-+*/]))",
    re.ASCII,
)
_SPELLINGS = {"≤": "<=", "≥": ">=", "=<": "<=", "=>": ">=", "×": "*", "−": "-", "&lt;": "<"}
_WORDS = {"and": "&&", "or": "||"}
_SHAPE = re.compile(r"[A-Za-z_][\w.-]*\s*(?:[<>]=?|[=≤≥]=?|=[<>])\s*[-+.]?\d[^|;&]*")
_SIMPLE = re.compile(r"([A-Za-z_][\w.]*) (<=|>=|<|>|==) (-?[\d.]+(?:[eE][+-]?\d+)?)")


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str


def expression(text: str) -> str | None:
    """The expression in one spelling (`accuracy >= 0.98`), or None when it is not one."""
    for seen, meant in _SPELLINGS.items():
        text = text.replace(seen, meant)
    tokens = _tokens(text.strip())
    if tokens is None or not _well_formed(tokens):
        return None
    out = ""
    for before, token in pairwise((_Token("open", ""), *tokens)):
        tight = before.kind == "open" or token.kind == "close" or before.kind == "sign"
        out += token.text if tight else f" {token.text}"
    return out


def looks_like_expression(text: str) -> bool:
    """Whether it was meant as one (`accuracy >= 98%`), so that it is not run as a command."""
    return _SHAPE.fullmatch(text.strip()) is not None


def simple(text: str) -> tuple[str, str, float] | None:
    """`(name, comparison, number)` of an expression that is just that."""
    found = _SIMPLE.fullmatch(expression(text) or "")
    return (found[1], found[2], float(found[3])) if found else None


def contradiction(constraints: Sequence[str]) -> tuple[str, str] | None:
    """Two constraints on one name that no number satisfies."""
    known = [(text, *parts) for text in constraints if (parts := simple(text))]
    for number, (text, name, sign, bound) in enumerate(known):
        for other_text, other_name, other_sign, other_bound in known[:number]:
            if name == other_name and _apart((sign, bound), (other_sign, other_bound)):
                return other_text, text
    return None


def _apart(one: tuple[str, float], two: tuple[str, float]) -> bool:
    for (sign, low), (other, high) in ((one, two), (two, one)):
        if sign in (">", ">=", "==") and other in ("<", "<=", "=="):
            strict = sign == ">" or other == "<"
            if low > high or (low == high and strict):
                return True
    return False


def _tokens(text: str) -> list[_Token] | None:
    tokens: list[_Token] = []
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if not found or not found.lastgroup:
            return None
        kind, word = found.lastgroup, found[found.lastgroup]
        if kind == "name" and word.lower() in _WORDS:
            kind, word = "join", _WORDS[word.lower()]
        if kind == "op" and word in "+-" and (not tokens or tokens[-1].kind not in _OPERANDS_END):
            kind = "sign"
        tokens.append(_Token(kind, word))
        at = found.end()
    return tokens


_OPERANDS_END = frozenset({"number", "name", "close"})
_OPERANDS_START = frozenset({"number", "name", "open", "sign"})


def _well_formed(tokens: list[_Token]) -> bool:
    """Operands and operators alternate, brackets pair, each clause compares, a number occurs."""
    kinds = [token.kind for token in tokens]
    if not {"compare", "number", "name"} <= set(kinds):
        return False
    if kinds[0] not in _OPERANDS_START or kinds[-1] not in _OPERANDS_END:
        return False
    for left, right in pairwise(kinds):
        if (left in _OPERANDS_END) == (right in _OPERANDS_START):
            return False
    depth = compares = 0
    for kind in kinds:
        depth += (kind == "open") - (kind == "close")
        compares = 0 if kind == "join" else compares + (kind == "compare")
        if depth < 0 or (compares > 1 and depth == 0):
            return False
    clauses = " ".join(kinds).split("join")
    return depth == 0 and all("compare" in clause for clause in clauses)
