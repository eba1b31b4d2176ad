"""Which files a candidate may change, as goal.md says it."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy

from selfimprove.contracts.goal import Scope as ScopeRecord
from selfimprove.vcs.patterns import Patterns


class Scope:
    """`## Scope` of a goal, asked of paths given from the top of the repository."""

    def __init__(
        self,
        in_scope: Iterable[str],
        out_of_scope: Iterable[str] = (),
        hidden: Iterable[str] = (),
        prefix: str = "",
    ) -> None:
        self.included = Patterns(in_scope, prefix)
        self.excluded = Patterns(out_of_scope, prefix)
        self.hidden = Patterns(hidden, prefix)
        """In no agent's tree or prompt."""

    @classmethod
    def of(cls, record: ScopeRecord, prefix: str = "") -> Scope:
        """The scope of a checked goal; `prefix` is the target's sub-directory."""
        return cls(record.in_scope, record.out_of_scope, record.hidden, prefix)

    def hiding(self, paths: Iterable[str]) -> Scope:
        """This scope with some files besides in no agent's tree or prompt."""
        more = copy(self)
        more.hidden = self.hidden.plus(paths)
        return more

    def matches(self, path: str) -> bool:
        """Whether a candidate may change this file, seals aside."""
        return path in self.included and path not in self.excluded and path not in self.hidden

    def names_exactly(self, path: str) -> bool:
        """Whether the scope names this very file, not only a folder or a glob that covers it."""
        return self.included.names_exactly(path) and self.matches(path)

    def editable(self, paths: Iterable[str]) -> list[str]:
        """Those of the paths that are in scope, sorted."""
        return sorted(path for path in paths if self.matches(path))

    def unmatched(self, paths: Iterable[str]) -> list[str]:
        """Patterns of "In scope" that mean no file."""
        return self.included.unmatched(paths)
