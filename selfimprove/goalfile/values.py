"""Paths and commands as a person writes them in goal.md."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from selfimprove.goalfile.reader import Part, Value
from selfimprove.markdown import code_spans
from selfimprove.words import NOTHING

EVERYTHING = "**"
_WHOLE = frozenset({".", "./", "/", "*", "**", "**/*", "everything", "all", "all files"})
_WHOLE |= {"the whole repository", "whole repository", "the repository", "any file"}
_COMMENT = re.compile(r"\s+(?:[–—]|--?)\s+.*$|\s+\([^()]*\)\s*$|(?<=[\w/*]):\s+.*$")
_LEAD = re.compile(r"(?:.*\s[–—-]|.*:)?\s*")
_REMARK = re.compile(r"\s*(?:[(–—:.,;-].*)?")
_PROMPT = re.compile(r"^\$ ", re.MULTILINE)


def paths(part: Part, values: Iterable[Value]) -> list[str]:
    """Paths, folders and globs of a list of values, each once, in order."""
    found: dict[str, None] = {}
    for value in values:
        for words in _split(value):
            if words.lower() not in NOTHING:
                found[_path(part, words, value)] = None
    return list(found)


def command(part: Part, value: Value) -> str:
    """The command of a value: in backquotes (a remark may stand beside it), fenced, or bare."""
    if value.kind == "code":
        return script(value.text)
    spans = code_spans(value.text)
    if not spans:
        return _PROMPT.sub("", value.text.strip())
    before, after = value.text.partition("`")[0], value.text.rpartition("`")[2]
    if len(spans) == 1 and _LEAD.fullmatch(before) and _REMARK.fullmatch(after):
        return _PROMPT.sub("", spans[0])
    raise part.error(
        value.line,
        f"cannot tell which part of {value.text!r} is the command",
        "put the whole command in one pair of backquotes, or in a fenced block",
    )


def script(code: str) -> str:
    """A block of code as one shell command; of several lines, the first that fails ends it."""
    lines = [_PROMPT.sub("", line) for line in code.split("\n")]
    kept = [line.rstrip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    whole = "\n".join(kept)
    is_one = len(kept) == 1 or all(line.endswith("\\") for line in kept[:-1])
    return whole.strip() if is_one or not kept else f"set -e\n{whole}"


def _split(value: Value) -> Iterator[str]:
    """The single paths of a line: code spans, else what commas part."""
    if value.kind == "code":
        yield from filter(None, (line.strip() for line in value.text.split("\n")))
    elif spans := code_spans(value.text):
        yield from spans
    else:
        # a comma inside {a,b} is the glob's own
        for words in re.split(r",\s*(?![^{}]*\})|\s+and\s+|\s*<br\s*/?>\s*|\s*;\s*", value.text):
            if words.strip():
                yield re.sub(r"\\([*_`\[\]])", r"\1", _COMMENT.sub("", words.strip())).strip("\"'")


def _path(part: Part, words: str, value: Value) -> str:
    if words.lower() in _WHOLE:
        return EVERYTHING
    path = words.removeprefix("./")
    if path.startswith(("/", "~")) or ".." in path.split("/") or re.match(r"[A-Za-z]:\\", path):
        raise part.error(
            value.line,
            f"{words!r} lies outside the repository",
            "name it from the repository's top",
        )
    if value.kind != "code" and "`" not in value.text and _is_prose(path):
        raise part.error(
            value.line,
            f"cannot read {words!r} as a path",
            "write a path, folder or glob such as `src/`, in backquotes if it has spaces",
        )
    return path


def _is_prose(path: str) -> bool:
    return " " in path and not re.search(r"[/.*\\]", path.rstrip("."))
