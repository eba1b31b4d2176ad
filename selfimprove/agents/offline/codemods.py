"""Codemods: a rewrite found at some spans of a file becomes an idea with its exact edits."""

from __future__ import annotations

from dataclasses import dataclass

from selfimprove.agents.offline.edits import Splice, hunks_of
from selfimprove.agents.offline.files import SourceFile
from selfimprove.agents.offline.idea import APPLY_CODEMOD, ChangeIdea, one_line

MAX_EDIT_CHARS = 40_000


@dataclass(frozen=True)
class Codemod:
    """One rewrite, before it is checked."""

    rule: str
    line: int
    symbol: str
    family: str
    prior: float
    title: str
    why: str
    splices: tuple[Splice, ...]
    users: tuple[str, ...] = ()
    safe: bool = True


def idea_of(file: SourceFile, mod: Codemod) -> ChangeIdea | None:
    """Make an idea of a rewrite, or None where it changes nothing; raises StaleEdit.

    Whether the result still compiles is asked when it is planned: most ideas never are.
    """
    hunks = hunks_of(file.text, mod.splices)
    if not hunks or sum(len(hunk.old) + len(hunk.new) for hunk in hunks) > MAX_EDIT_CHARS:
        return None
    where = f"{mod.symbol} ({file.path})" if mod.symbol else file.path
    return ChangeIdea(
        tool=APPLY_CODEMOD,
        name=mod.rule,
        path=file.path,
        line=mod.line,
        symbol=mod.symbol,
        family=mod.family,
        prior=mod.prior,
        title=f"{mod.title} in {where}",
        why=mod.why,
        excerpt=one_line(file.line(mod.line)),
        hunks=hunks,
        users=mod.users or ((mod.symbol,) if mod.symbol else ()),
        safe=mod.safe,
    )
