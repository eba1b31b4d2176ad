"""Ideas a person wrote: `path::NAME = 1, 2, 4` names a constant and the values to try in turn."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from selfimprove.agents.offline.families import family_of_tunable
from selfimprove.agents.offline.files import SourceFile
from selfimprove.agents.offline.idea import SET_VALUE, ChangeIdea, one_line
from selfimprove.agents.offline.sources import config_tunables, native_tunables, python_tunables
from selfimprove.agents.offline.tunables import Tunable, matching

NAME = "your ideas"
FORM = "path::NAME = value, value, …"
_IDEA = re.compile(r"^[\s*-]*`?([^\s:`]+)::([\w.#-]+)\s*(?:=|:)\s*(.+?)`?\s*$")
_VALUE = re.compile(r"""\s*("[^"]*"|'[^']*'|[^,\s][^,]*?)\s*(?:,|$)""")


@dataclass(frozen=True)
class UserIdeas:
    """What of a person's ideas can be carried out offline, and what cannot, with why."""

    ideas: tuple[ChangeIdea, ...] = ()
    not_actionable: tuple[str, ...] = ()


def texts_of(context: Mapping[str, Any]) -> list[str]:
    """Collect the ideas of idea.md and goal.md, each once, as text."""
    given = [*(context.get("ideas") or ()), *((context.get("goal") or {}).get("ideas") or ())]
    texts = [str(one.get("text", "")) if isinstance(one, Mapping) else str(one) for one in given]
    return list(dict.fromkeys(text.strip() for text in texts if text.strip()))


def parse(text: str) -> tuple[str, str, list[str]] | None:
    """Read `path::NAME = 1, 2, 4`; None for ideas in prose."""
    match = _IDEA.match(text)
    return (match[1], match[2], _VALUE.findall(match[3])) if match else None


def find(texts: Iterable[str], files: Mapping[str, SourceFile]) -> UserIdeas:
    """Make ideas of texts, against the files that may be changed."""
    ideas: dict[str, ChangeIdea] = {}
    left = []
    for text in texts:
        parsed = parse(text)
        if parsed is None:
            left.append(f"{one_line(text)}: written as prose; offline it must read {FORM}")
            continue
        path, name, values = parsed
        file = files.get(path)
        tunable = matching(tunables_of(file), name) if file is not None else None
        if file is None or tunable is None:
            where = (
                f"{path} may not be changed" if file is None else f"there is no {name} in {path}"
            )
            left.append(f"{one_line(text)}: {where}")
            continue
        idea = _idea(file, tunable, values)
        known = ideas.get(idea.key)
        both = tuple(dict.fromkeys([*known.values, *idea.values])) if known else idea.values
        ideas[idea.key] = replace(idea, values=both)
    return UserIdeas(tuple(ideas.values()), tuple(left))


def tunables_of(file: SourceFile | None) -> tuple[Tunable, ...]:
    """Give every named literal of a file, whatever its language."""
    if file is None:
        return ()
    if file.language == "python":
        return python_tunables.tunables(file.text)
    if file.language in config_tunables.LANGUAGES:
        return config_tunables.tunables(file.text, file.language)
    return native_tunables.tunables(file.text, file.language)


def _idea(file: SourceFile, tunable: Tunable, values: list[str]) -> ChangeIdea:
    bare = tunable.text is not None
    written = [tunable.quoted(v) if bare and v[:1] not in "'\"" else v for v in values]
    return ChangeIdea(
        tool=SET_VALUE,
        name=tunable.name,
        path=file.path,
        line=tunable.line,
        symbol=tunable.symbol,
        family=family_of_tunable(file.path, tunable.name.split("#")[0]),
        prior=1.0,
        title=f"The values you named for {tunable.name} in {file.path}",
        why="you asked for these values to be tried",
        excerpt=one_line(file.line(tunable.line)),
        old=tunable.literal,
        values=tuple(v for v in written if v != tunable.literal),
        users=tunable.users,
        asked=True,
    )
