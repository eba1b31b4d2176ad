"""Constants of C, C++, Rust, Go, JavaScript and TypeScript, through ast-grep."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from selfimprove.agents.offline.files import SourceFile
from selfimprove.agents.offline.idea import ChangeIdea
from selfimprove.agents.offline.tunables import Tunable, idea_of, numbered
from selfimprove.agents.offline.wordlist import words

if TYPE_CHECKING:
    from ast_grep_py import SgNode

NAME = "native constants"
_SCRIPT = (("variable_declarator", "name", "value"), ("public_field_definition", "name", "value"))
KINDS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "c": (("preproc_def", "name", "value"), ("init_declarator", "declarator", "value")),
    "cpp": (("preproc_def", "name", "value"), ("init_declarator", "declarator", "value")),
    "rust": (("const_item", "name", "value"), ("static_item", "name", "value")),
    "go": (("const_spec", "name", "value"), ("var_spec", "name", "value")),
    "javascript": (
        ("variable_declarator", "name", "value"),
        ("field_definition", "property", "value"),
    ),
    "typescript": _SCRIPT,
    "tsx": _SCRIPT,
}
LANGUAGES = frozenset(KINDS)
_NUMBER = re.compile(r"-?(?:0[xX][\da-fA-F]+|\d[\d_']*(?:\.\d+)?(?:[eE][-+]?\d+)?)")
_SUFFIX = re.compile(r"(?:[uUlLzZ]{1,3}|[fF]|_?[iu](?:8|16|32|64|128|size)|_?f(?:32|64))?$")
_INSIDE = words(
    """
    function_definition function_declaration function_item method_definition
    method_declaration arrow_function function_expression lambda_expression func_literal
    closure_expression for_statement
    """
)


def find(files: Sequence[SourceFile]) -> list[ChangeIdea]:
    """Give an idea for every constant of these files that could be another."""
    found = []
    for file in files:
        for each in tunables(file.text, file.language):
            found += [idea] if (idea := idea_of(file, each)) else []
    return found


@lru_cache(maxsize=256)
def tunables(text: str, language: str) -> tuple[Tunable, ...]:
    """Give every constant with a literal value that stands outside functions, or in capitals."""
    if language not in KINDS:
        return ()
    from ast_grep_py import SgRoot

    root = SgRoot(text, language).root()
    found = [
        tunable
        for kind, name, value in KINDS[language]
        for node in root.find_all(kind=kind)
        for tunable in _tunable(node, node.field(name), node.field(value))
    ]
    return tuple(numbered(found))


def _tunable(node: SgNode, name: SgNode | None, value: SgNode | None) -> Iterator[Tunable]:
    if name is None or value is None:
        return
    called = name.text().strip("*& ")
    local = any(up.kind() in _INSIDE for up in node.ancestors())
    if (local and not called.isupper()) or not re.fullmatch(r"\w+", called):
        return
    written = value.text()
    start = value.range().start.index + len(written) - len(written.lstrip())
    literal = re.split(r"\s*(?://|/\*)", written.strip())[0]
    number = _NUMBER.match(literal)
    suffix = _SUFFIX.fullmatch(literal, number.end()) if number else None
    if number and suffix:
        # the suffix stays where it is: only the digits are the value
        digits = number[0]
        end = start + len(digits)
        python = str(int(digits, 16)) if digits[:2].lower() == "0x" else digits.replace("'", "")
        line = node.range().start.line + 1
        computed = "" if python == digits else python
        yield Tunable(called, line, start, end, digits, "constant", value=computed)
    elif literal in ("true", "false"):
        line = node.range().start.line + 1
        yield Tunable(called, line, start, start + len(literal), literal, "constant")
