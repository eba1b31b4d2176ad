"""What an idea source yields: one change that could help, with all that is needed to make it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from selfimprove.agents.offline.edits import Hunk
from selfimprove.agents.offline.files import SourceFile

SET_VALUE = "tunable.set"
APPLY_CODEMOD = "codemod.apply"
Confidence = Literal["high", "medium", "low"]


@dataclass(frozen=True)
class ChangeIdea:
    """One place where a value could be another, or code could be written another way."""

    tool: str
    """`tunable.set` (one of `values` instead of `old`) or `codemod.apply` (`hunks`)."""
    name: str
    """A tunable's qualified name, or the rule of a codemod."""
    path: str
    line: int
    symbol: str
    """The function or class it stands in; empty at the top of a file."""
    family: str
    prior: float
    """How likely such a change is to pay, before anything is measured; 0 to 1."""
    title: str
    why: str
    excerpt: str
    """The line of the file that is the evidence."""
    old: str = ""
    values: tuple[str, ...] = ()
    """Values to try, the most promising first; literals as the file's language writes them."""
    hunks: tuple[Hunk, ...] = ()
    users: tuple[str, ...] = ()
    """Functions of the same file that use a tunable: where its effect would be felt."""
    asked: bool = False
    """A person wrote it."""
    safe: bool = True
    """False where the change may alter what the program does in odd cases."""

    @property
    def key(self) -> str:
        """The same for the same idea in another round, wherever its lines have moved."""
        if self.tool == SET_VALUE:
            return f"{self.path}::{self.name}"
        return f"{self.path}::{self.name}@{self.symbol}"

    @property
    def confidence(self) -> Confidence:
        """The prior in a word."""
        if not self.safe or self.prior < 0.35:
            return "low"
        return "high" if self.prior >= 0.65 else "medium"


class IdeaSource(Protocol):
    """One way to find ideas; modules satisfy it."""

    NAME: str

    def find(self, files: Sequence[SourceFile]) -> list[ChangeIdea]:
        """Give the ideas these files hold."""
        ...


def one_line(text: str, limit: int = 100) -> str:
    """Fold white space, so that a piece of code fits into a sentence."""
    folded = " ".join(text.split())
    return folded if len(folded) <= limit else folded[: limit - 1] + "…"


def tool_args(idea: ChangeIdea, value: str | None) -> dict[str, Any]:
    """Write an idea as the arguments of a plan's tool use: all that its executor needs."""
    if idea.tool == SET_VALUE:
        return {
            "path": idea.path,
            "name": idea.name,
            "line": idea.line,
            "old": idea.old,
            "new": value or "",
        }
    return {
        "path": idea.path,
        "rule": idea.name,
        "symbol": idea.symbol,
        "line": idea.line,
        "edits": [{"line": hunk.line, "old": hunk.old, "new": hunk.new} for hunk in idea.hunks],
    }
