"""Scripts: bench.sh, and those that call hyperfine."""

from __future__ import annotations

import re
from collections.abc import Iterator

from selfimprove.setup.guess import format_of_script
from selfimprove.setup.proposal import Proposal, Site

_CALL = re.compile(r"^\s*(hyperfine\s(?:[^\n\\]|\\\n|\\.)*)", re.MULTILINE)
_EXPORT = re.compile(r"\s--export-json[= ]\S+")


def propose(site: Site) -> Iterator[Proposal]:
    """What a script offers."""
    for file in site.matching("*.sh", "*.bash"):
        text = site.text(file)
        if call := _CALL.search(text):
            yield _hyperfine(file, text, call[1])
        elif re.search(r"(?:^|/)(?:bench|benchmark|perf)[^/]*$", file):
            shell = "bash" if "bash" in text.split("\n", 1)[0] else "sh"
            why = f"{file} is a script of that name"
            yield Proposal("benchmark", f"{shell} {file}", format_of_script(text), why, rank=4)


def _hyperfine(file: str, text: str, call: str) -> Proposal:
    """The call itself where it stands alone, so that the result lands where it is read."""
    one_line = re.sub(r"\s*\\\n\s*", " ", call).strip()
    if "$" in one_line or len(_CALL.findall(text)) > 1:
        why = f"{file} calls hyperfine; let it --export-json to the file given as its argument"
        command = f"sh {file} {{result}}"
    else:
        why = f"{file} calls hyperfine"
        command = f"{_EXPORT.sub('', one_line)} --export-json {{result}}"
    return Proposal("benchmark", command, "hyperfine", why, "geomean(*)", "lower_is_better", rank=2)
