"""What the agents asked side by side may still spend: reserved before each request, settled after.

The record knows what questions that have ended have spent. What those under way have spent and
reserved is kept here, so that together they stay within what is left; and in a file for each, so
that after a kill it can be booked.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from selfimprove.contracts.agent import Usage
from selfimprove.contracts.base import Record
from selfimprove.errors import ContractError
from selfimprove.store.files import json_bytes, write_whole

ONE_CALL = Usage(calls=1)
"""What is known of a question before it is asked, whoever answers it."""
NOTHING = Usage(calls=0)
NAMES = {"calls": "calls", "tokens": "tokens", "usd": "dollars"}


@dataclass(frozen=True)
class Amount:
    """Something spent, or about to be."""

    calls: int = 0
    tokens: int = 0
    usd: float = 0.0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.calls + other.calls, self.tokens + other.tokens, self.usd + other.usd)


@dataclass(frozen=True)
class Scope:
    """What one budget leaves by the record; None where it limits nothing."""

    whose: str
    """In words: `the run`."""
    calls: float | None = None
    tokens: float | None = None
    usd: float | None = None
    role: str = ""
    """Whom it binds; everybody where empty."""

    def lacks(self, open_: Amount, wanted: Amount) -> str:
        """Which amount does not fit beside what is open, in words; empty where all does.

        Of what nobody can say beforehand, something must be left.
        """
        for name, word in NAMES.items():
            left = getattr(self, name)
            if left is None:
                continue
            left -= getattr(open_, name)
            more = getattr(wanted, name)
            if more > left or left <= 0:
                return f"{self.whose} has {max(0, left):.4g} {word} left"
        return ""


class OpenTab(Record):
    """A question under way: what it has spent, what it may be spending, and whose it is."""

    additions: ClassVar[frozenset[str]] = frozenset({"spec", "failed"})

    id: str
    about: str
    """The correlation id of its call."""
    session: str
    agent: str
    role: str
    spec: str = ""
    """Whom the question is for; empty in a file of before it was told."""
    args_hash: str
    request: str
    """The key that its reply is kept under."""
    settled: Usage = NOTHING
    reserved: Usage = NOTHING
    failed: str = ""
    """Why the question, which has ended, got no answer; empty while it is under way."""

    @property
    def worst(self) -> Usage:
        """What is booked where nobody can say what came of it."""
        return self.settled.plus(self.reserved)


def amount(usage: Usage) -> Amount:
    """A usage as budgets count it."""
    return Amount(usage.counted, usage.tokens, usage.usd)


class Tab:
    """One question's spending; used by the thread that asks it."""

    def __init__(self, purse: Purse, opened: OpenTab, place: Path) -> None:
        self._purse = purse
        self._place = place
        self.now = opened

    def reserve(self, worst: Usage) -> str:
        """Reserve a request's worst case, or say which budget it might pass."""
        refused = self._purse.reserve(self, worst)
        if not refused:
            self.keep()
        return refused

    def waits(self) -> bool:
        """Whether others have reserved what may come free again."""
        return self._purse.waits(self)

    def settle(self, usage: Usage, failed: str = "") -> None:
        """Say what all requests so far came to; nothing is reserved any more."""
        done = {"settled": usage, "reserved": NOTHING, "failed": failed}
        with self._purse.lock:
            self.now = self.now.model_copy(update=done)
        self.keep()

    def keep(self) -> None:
        """Keep the tab where a later process finds it."""
        write_whole(self._place, json_bytes(self.now.document()))

    def drop(self) -> None:
        """Forget it: the record has what it came to."""
        self._place.unlink(missing_ok=True)


@dataclass
class Purse:
    """What is left for everybody; safe to use from threads."""

    scopes: tuple[Scope, ...] = ()
    call: Scope = field(default_factory=lambda: Scope("one question"))
    """What each question by itself may spend."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    tabs: dict[str, Tab] = field(default_factory=dict)
    """Session -> the tab of its question."""

    def look(self, scopes: tuple[Scope, ...], settled: str = "") -> None:
        """Take note of what is left by the record, which now holds what `settled` spent."""
        with self.lock:
            self.scopes = scopes
            tab = self.tabs.pop(settled, None)
        if tab is not None:
            tab.drop()

    def open(self, opened: OpenTab, place: Path) -> str:
        """Open the tab of a question that is about to be asked, or say which budget forbids it."""
        tab = Tab(self, opened, place)
        refused = self.reserve(tab, ONE_CALL, begins=True)
        if not refused:
            with self.lock:
                self.tabs[opened.session] = tab
        return refused

    def tab(self, session: str) -> Tab | None:
        """The tab of a question; None for one that is asked outside a run."""
        with self.lock:
            return self.tabs.get(session)

    def reserve(self, tab: Tab, worst: Usage, *, begins: bool = False) -> str:
        """Reserve for a tab where everything that is left allows it; else say what does not.

        A question may begin while others have the rest reserved: they may give it back.
        """
        wanted = amount(worst)
        with self.lock:
            refused = self.call.lacks(amount(tab.now.settled), wanted)
            for scope in self.scopes:
                if not refused and scope.role in ("", tab.now.role):
                    refused = scope.lacks(self._open(scope, tab, begins=begins), wanted)
            if not refused:
                tab.now = tab.now.model_copy(update={"reserved": worst})
        return refused

    def _open(self, scope: Scope, tab: Tab, *, begins: bool) -> Amount:
        """What the questions under way have taken from a scope, what `tab` asks for left out."""
        total = amount(tab.now.settled)
        for each in self.tabs.values():
            if each is not tab and scope.role in ("", each.now.role):
                settled, worst = amount(each.now.settled), amount(each.now.worst)
                total = total + (replace(settled, calls=worst.calls) if begins else worst)
        return total

    def waits(self, tab: Tab) -> bool:
        """Whether somebody else has reserved what may come free again."""
        with self.lock:
            others = [each.now.reserved for each in self.tabs.values() if each is not tab]
        return any(amount(each).usd or amount(each).tokens for each in others)


def read_tabs(folder: Path) -> Iterator[tuple[Path, OpenTab | None]]:
    """The tabs that a process left which was killed; None for one that cannot be read."""
    for place in sorted(folder.glob("*.tab")):
        try:
            yield place, OpenTab.parse_json(place.read_bytes(), str(place))
        except ContractError:
            yield place, None
