"""Tunables in any language: a named literal at a span of a file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from selfimprove.agents.offline.edits import Splice, StaleEdit, splice
from selfimprove.agents.offline.families import family_of_tunable
from selfimprove.agents.offline.files import SourceFile
from selfimprove.agents.offline.idea import SET_VALUE, ChangeIdea, one_line
from selfimprove.agents.offline.values import (
    PERFORMANCE,
    choices,
    is_tunable,
    numbers,
    prior_of,
    switched,
    words_of,
)

Place = Literal["constant", "default", "keyword", "config"]
_PLACE_WEIGHT = {"constant": 1.0, "config": 0.9, "default": 0.6, "keyword": 0.5}
_BEGINNINGS = frozenset({"0", "1", "-1", "0.0", "1.0"})
"""What counters start from, more often than what somebody chose."""


@dataclass(frozen=True)
class Tunable:
    """A literal with a name, and where it stands."""

    name: str
    """Qualified: `Cls.NAME`, `function.parameter`, `function.callee.keyword`, `section.key`."""
    line: int
    start: int
    end: int
    literal: str
    place: Place
    symbol: str = ""
    users: tuple[str, ...] = ()
    known: frozenset[str] = frozenset()
    """Other words a string is compared with, where that could be seen."""
    text: str | None = None
    """The string a quoted literal stands for; None for numbers and truth values."""
    value: str = ""
    """A computed constant (`64 * 1024`) as one literal."""

    def quoted(self, word: str) -> str:
        """Write a word in the quotes of this literal."""
        quote = self.literal[:1] if self.literal[:1] in "'\"" else ""
        return f"{quote}{word}{quote}"


def numbered(tunables: Iterable[Tunable]) -> list[Tunable]:
    """Tell equal names of one file apart: the second `f.x` is `f.x#2`."""
    seen: dict[str, int] = {}
    done = []
    for each in sorted(tunables, key=lambda one: one.start):
        count = seen[each.name] = seen.get(each.name, 0) + 1
        done.append(each if count == 1 else replace(each, name=f"{each.name}#{count}"))
    return done


def values_for(tunable: Tunable) -> list[str]:
    """Give the literals worth trying instead of this one."""
    if tunable.text is not None:
        return [tunable.quoted(word) for word in choices(tunable.text, tunable.known)]
    literal = tunable.value or tunable.literal
    return switched(literal) or numbers(literal, tunable.name.split("#")[0])


def idea_of(file: SourceFile, tunable: Tunable) -> ChangeIdea | None:
    """Make an idea of a tunable, or None where nothing sensible could stand instead."""
    plain = tunable.name.split("#")[0]
    values = values_for(tunable) if is_tunable(plain) else []
    if not values:
        return None
    if tunable.literal in _BEGINNINGS and not words_of(plain) & PERFORMANCE:
        return None
    prior = prior_of(plain, tunable.literal) * _PLACE_WEIGHT[tunable.place]
    if tunable.text is not None:
        prior = 0.6 if tunable.known else 0.4
    shown = one_line(tunable.literal, 30)
    return ChangeIdea(
        tool=SET_VALUE,
        name=tunable.name,
        path=file.path,
        line=tunable.line,
        symbol=tunable.symbol,
        family=family_of_tunable(file.path, plain),
        prior=prior,
        title=f"Another value for {tunable.name} in {file.path}",
        why=_why(plain, shown),
        excerpt=one_line(file.line(tunable.line)),
        old=tunable.literal,
        values=tuple(values),
        users=tunable.users,
        safe=tunable.place != "keyword",
    )


def set_value(text: str, tunables: Iterable[Tunable], args: dict[str, str]) -> str:
    """Write `new` where the tunable `name` reads `old`; raises StaleEdit where it does not."""
    name, old, new = args["name"], args.get("old", ""), args["new"]
    found = matching(tunables, name)
    if found is None:
        raise StaleEdit(f"there is no {name} to set")
    if old and found.literal != old:
        raise StaleEdit(f"{name} is {found.literal} now, not {old}")
    if found.literal == new:
        raise StaleEdit(f"{name} is {new} already")
    return splice(text, [Splice(found.start, found.end, new)])


def matching(tunables: Iterable[Tunable], name: str) -> Tunable | None:
    """Find a tunable by its whole name, or by its last part where only one has it."""
    every = list(tunables)
    for each in every:
        if each.name == name:
            return each
    short = [each for each in every if each.name.endswith(f".{name}")]
    return short[0] if len(short) == 1 else None


def _why(name: str, shown: str) -> str:
    words = words_of(name)
    if words & {"cache", "maxsize", "cachesize", "memo", "lru"}:
        return f"how much is kept for later uses depends on it, and {shown} may be too little"
    if words & {"chunk", "buffer", "buffering", "block", "page", "batch", "prefetch"}:
        return f"how much is handled at a time depends on it, and {shown} may not suit the work"
    if words & {"worker", "workers", "thread", "threads", "pool", "jobs", "parallel"}:
        return f"how much runs at once depends on it, and {shown} may not suit the machine"
    if words & {"debug", "verbose", "trace", "check", "checks", "validate", "log", "logging"}:
        return "what it turns on costs time on every pass"
    return f"the cost of the code that uses it may depend on it, and {shown} was never measured"
