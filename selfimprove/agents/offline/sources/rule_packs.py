"""ast-grep rule packs: the YAML files of skills/codemods/.

A rule is an ast-grep rule (`id`, `language`, `rule`, `constraints`, `transform`, `message`, `fix`)
with `metadata`: `family`, `prior`, `why`, `safe`, and `header`, a line the file needs at its top
once the fix is made (`import heapq`, `#include <algorithm>`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from selfimprove.agents.offline.codemods import Codemod, idea_of
from selfimprove.agents.offline.edits import Splice, StaleEdit
from selfimprove.agents.offline.files import SourceFile
from selfimprove.agents.offline.idea import ChangeIdea
from selfimprove.agents.offline.sources.ruff_rules import symbol_at
from selfimprove.agents.offline.wordlist import words
from selfimprove.errors import ConfigError
from selfimprove.resources import folder

if TYPE_CHECKING:
    from ast_grep_py import SgNode

NAME = "rule packs"
LANGUAGES = frozenset({"python", "javascript", "typescript", "tsx", "c", "cpp", "rust", "go"})
MAX_MATCHES = 40
_META = re.compile(r"\$\$\$([A-Z_]\w*)|\$([A-Z_]\w*)")
_FUNCTIONS = words(
    """
    function_definition function_declaration function_item method_definition
    method_declaration
    """
)


@dataclass(frozen=True)
class Rule:
    """One rule of a pack."""

    name: str
    languages: tuple[str, ...]
    config: dict[str, Any]
    fix: str
    message: str
    family: str
    prior: float
    why: str
    safe: bool
    header: str


def find(files: Sequence[SourceFile]) -> list[ChangeIdea]:
    """Give an idea for each rule in each function it matches, and one for the whole file."""
    from ast_grep_py import SgRoot

    found: list[ChangeIdea] = []
    for file in files:
        rules = [rule for rule in load_rules() if file.language in rule.languages]
        root = SgRoot(file.text, file.language).root() if rules else None
        for rule in rules if root is not None else ():
            assert root is not None
            found += _ideas(file, rule, root)
    return found


def _ideas(file: SourceFile, rule: Rule, root: SgNode) -> Iterator[ChangeIdea]:
    groups: dict[str, list[Codemod]] = {}
    last = -1
    for match in root.find_all(cast(Any, rule.config))[:MAX_MATCHES]:
        start, end = match.range().start.index, match.range().end.index
        if start < last:
            continue  # inside another match: one of the two at a time
        last = end
        mod = _codemod(file, rule, match)
        groups.setdefault(mod.symbol, []).append(mod)
    every = [mod for group in groups.values() for mod in group]
    for group in ([every] if len(groups) > 1 else []) + list(groups.values()):
        idea = _merged(file, rule, group, whole=len({mod.symbol for mod in group}) > 1)
        if idea is not None:
            yield idea


def _merged(file: SourceFile, rule: Rule, group: list[Codemod], whole: bool) -> ChangeIdea | None:
    first = group[0]
    header = _header(file, rule.header)
    mod = Codemod(
        rule=rule.name,
        line=first.line,
        symbol="" if whole else first.symbol,
        family=rule.family,
        prior=rule.prior,
        title=rule.message + (f" ({len(group)} places)" if len(group) > 1 else ""),
        why=rule.why,
        splices=tuple(header + [part for each in group for part in each.splices]),
        users=tuple(dict.fromkeys(each.symbol for each in group if each.symbol)),
        safe=rule.safe,
    )
    try:
        return idea_of(file, mod)
    except StaleEdit:
        return None


def _codemod(file: SourceFile, rule: Rule, match: SgNode) -> Codemod:
    start, end = match.range().start.index, match.range().end.index
    line = match.range().start.line + 1
    return Codemod(
        rule=rule.name,
        line=line,
        symbol=symbol_at(file.text, line) if file.language == "python" else _symbol(match),
        family=rule.family,
        prior=rule.prior,
        title=rule.message,
        why=rule.why,
        splices=(Splice(start, end, expanded(file.text, rule.fix, match)),),
        safe=rule.safe,
    )


def expanded(text: str, fix: str, match: SgNode) -> str:
    """Fill a fix with what a match has captured."""

    def fill(found: re.Match[str]) -> str:
        if found[1]:
            nodes = match.get_multiple_matches(found[1])
            if not nodes:
                return ""
            return text[nodes[0].range().start.index : nodes[-1].range().end.index]
        node = match.get_match(found[2])
        return node.text() if node is not None else (match.get_transformed(found[2]) or "")

    return _META.sub(fill, fix)


def _symbol(match: SgNode) -> str:
    for up in match.ancestors():
        if up.kind() in _FUNCTIONS:
            name = up.field("name") or up.field("declarator")
            return re.split(r"\W", name.text().strip("*& "))[0] if name is not None else ""
    return ""


def _header(file: SourceFile, line: str) -> list[Splice]:
    """Put a line (an import, an include) at the top of a file that has it not yet."""
    if not line or re.search(rf"^{re.escape(line)}\s*$", file.text, re.M):
        return []
    if file.language == "go" and line.removeprefix("import ") in file.text:
        return []
    at = 0
    if file.language == "python":
        from selfimprove.agents.offline.pymodule import PyModule
        from selfimprove.syntax import UNPARSABLE

        try:
            return PyModule(file.text).import_of(line.removeprefix("import ")) or []
        except UNPARSABLE:
            return []
    first = re.search(r"^(#include|use |import )", file.text, re.M)
    if first:
        at = first.start()
    newline = "\r\n" if "\r\n" in file.text else "\n"
    return [Splice(at, at, line + newline)]


@lru_cache(maxsize=1)
def load_rules() -> tuple[Rule, ...]:
    """Read every pack; raises ConfigError naming the file and rule that does not fit."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    found = []
    for pack in sorted((folder("skills") / "codemods").glob("*.yml")):
        try:
            documents = [each for each in YAML(typ="safe", pure=True).load_all(pack) if each]
        except YAMLError as error:
            raise ConfigError(f"{pack}: not YAML: {error}", "mend or remove the file") from None
        found += [_rule(pack.name, each) for each in documents]
    return tuple(found)


def _rule(pack: str, document: dict[str, Any]) -> Rule:
    try:
        metadata = document.get("metadata") or {}
        languages = document["language"]
        keys = ("rule", "constraints", "utils", "transform")
        return Rule(
            name=document["id"],
            languages=tuple([languages] if isinstance(languages, str) else languages),
            config={key: document[key] for key in keys if key in document},
            fix=str(document["fix"]).removesuffix("\n"),
            message=document["message"],
            family=metadata.get("family", "optimization"),
            prior=float(metadata.get("prior", 0.3)),
            why=metadata["why"],
            safe=bool(metadata.get("safe", True)),
            header=metadata.get("header", ""),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        where = document.get("id", "a rule") if isinstance(document, dict) else "a rule"
        raise ConfigError(f"{pack}: {where}: {error!r} is missing or wrong", "mend it") from None
