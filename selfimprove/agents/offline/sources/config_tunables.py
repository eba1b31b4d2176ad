"""Values of JSON, TOML, YAML and INI files, and optimisation levels of makefiles."""

from __future__ import annotations

import configparser
import json
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from selfimprove.agents.offline.files import SourceFile
from selfimprove.agents.offline.idea import ChangeIdea
from selfimprove.agents.offline.tunables import Tunable, idea_of, numbered

NAME = "configuration values"
LANGUAGES = frozenset({"json", "toml", "yaml", "ini", "make"})
_SCALAR = re.compile(
    r"""-?\d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|True|False|yes|no|on|off"""
    r"""|"[A-Za-z][\w-]{0,30}"|'[A-Za-z][\w-]{0,30}'"""
)
_TOML_LINE = re.compile(r"^[ \t]*([\w-]+(?:\.[\w-]+)*)[ \t]*=[ \t]*(?=\S)", re.M)
_INI_LINE = re.compile(r"^([\w.-]+)[ \t]*[=:][ \t]*(?=\S)", re.M)
_HEADER = re.compile(r"^[ \t]*\[+[ \t]*([^\]\n]+?)[ \t]*\]+", re.M)
_LEVEL = re.compile(r"(?<![\w-])-O([0-3sgz]|fast)(?!\w)")
_NOT_A_CHOICE = re.compile(
    r"(^|\.)(version|name|id|schema|port|seed|license|author|requires)s?$", re.I
)


def find(files: Sequence[SourceFile]) -> list[ChangeIdea]:
    """Give an idea for every value of these files that could be another."""
    found = []
    for file in files:
        for each in tunables(file.text, file.language):
            idea = None if _NOT_A_CHOICE.search(each.name) else idea_of(file, each)
            found += [idea] if idea else []
        if file.language == "make":
            found += _levels(file)
    return found


@lru_cache(maxsize=256)
def tunables(text: str, language: str) -> tuple[Tunable, ...]:
    """Give every scalar of a configuration file, named by the path of its keys."""
    reader: dict[str, Callable[[str], Iterator[Tunable]]] = {
        "json": _json,
        "yaml": _yaml,
        "toml": lambda text: _by_lines(text, _TOML_LINE, _toml_value),
        "ini": lambda text: _by_lines(text, _INI_LINE, _ini_value),
        "make": _make,
    }
    return tuple(numbered(reader[language](text))) if language in reader else ()


def _json(text: str) -> Iterator[Tunable]:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return
    from ast_grep_py import SgRoot

    for pair in SgRoot(text, "json").root().find_all(kind="pair"):
        key, value = pair.field("key"), pair.field("value")
        if key is None or value is None:
            continue
        names = [key, *(up.field("key") for up in pair.ancestors() if up.kind() == "pair")]
        path = ".".join(name.text().strip('"') for name in reversed(names) if name is not None)
        yield from _scalar(text, path, value.range().start.index, value.text())


def _yaml(text: str) -> Iterator[Tunable]:
    from ast_grep_py import SgRoot

    for pair in SgRoot(text, "yaml").root().find_all(kind="block_mapping_pair"):
        key, value = pair.field("key"), pair.field("value")
        if key is None or value is None or value.kind() != "flow_node":
            continue
        ups = [up.field("key") for up in pair.ancestors() if up.kind() == "block_mapping_pair"]
        names = [key, *ups]
        path = ".".join(name.text().strip("'\"") for name in reversed(names) if name is not None)
        yield from _scalar(text, path, value.range().start.index, value.text(), bare=True)


def _by_lines(
    text: str, line: re.Pattern[str], value_at: Callable[[str, str, str], Any]
) -> Iterator[Tunable]:
    """Key and value a line, under the last header; believed where a real parser agrees."""
    headers = [(match.start(), match[1]) for match in _HEADER.finditer(text)]
    for match in line.finditer(text):
        section = next((name for at, name in reversed(headers) if at < match.start()), "")
        scalar = _SCALAR.match(text, match.end())
        if scalar is None or not re.match(r"[ \t]*([#;][^\n]*)?\r?(\n|$)", text[scalar.end() :]):
            continue
        if value_at(text, section, match[1]) is not None:
            path = f"{section}.{match[1]}" if section else match[1]
            yield from _scalar(text, path, scalar.start(), scalar[0], bare=line is _INI_LINE)


@lru_cache(maxsize=32)
def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return {}


def _toml_value(text: str, section: str, key: str) -> Any:
    value: Any = _toml(text)
    for part in [*section.split("."), *key.split(".")] if section else key.split("."):
        value = value[-1] if isinstance(value, list) and value else value
        value = value.get(part.strip().strip("'\"")) if isinstance(value, dict) else None
    return value


@lru_cache(maxsize=32)
def _ini(text: str) -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    try:
        parser.read_string(text)
    except configparser.Error:
        parser.clear()
    return parser


def _ini_value(text: str, section: str, key: str) -> Any:
    return _ini(text).get(section, key, fallback=None)


def _scalar(
    text: str, path: str, start: int, literal: str, bare: bool = False
) -> Iterator[Tunable]:
    """A number, a truth value or a word; `bare` where words need no quotes."""
    word = bare and re.fullmatch(r"[A-Za-z][\w-]{0,30}", literal) is not None
    if not word and not _SCALAR.fullmatch(literal):
        return
    truth = literal.lower() in ("true", "false", "yes", "no", "on", "off")
    quoted = literal[0] in "'\""
    line = text.count("\n", 0, start) + 1
    string = literal.strip("'\"") if quoted or (word and not truth) else None
    yield Tunable(path, line, start, start + len(literal), literal, "config", text=string)


def _make(text: str) -> Iterator[Tunable]:
    for match in _LEVEL.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        yield Tunable("-O", line, match.start(), match.end(), match[0], "config", text="-O")


def _levels(file: SourceFile) -> list[ChangeIdea]:
    """The compiler's level of optimisation, where a makefile names one."""
    found = []
    for each in tunables(file.text, "make"):
        values = [level for level in ("-O2", "-O3", "-Ofast", "-Os") if level != each.literal]
        found.append(
            ChangeIdea(
                tool="tunable.set",
                name=each.name,
                path=file.path,
                line=each.line,
                symbol="",
                family="infrastructure",
                prior=0.8 if each.literal in ("-O0", "-O1", "-Og") else 0.4,
                title=f"Another level of compiler optimisation in {file.path}",
                why=f"the compiler is asked for {each.literal}, and a higher level may run faster",
                excerpt=file.line(each.line),
                old=each.literal,
                values=tuple(values),
            )
        )
    return found
