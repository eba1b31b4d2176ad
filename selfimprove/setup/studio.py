"""The rooms of a run that is not there yet: agents are asked in them, and what they made tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from selfimprove.agents.purse import Purse
from selfimprove.deps import Deps
from selfimprove.setup.begin import facts_of
from selfimprove.setup.draft import Draft, goal_text, stood_in
from selfimprove.site import Site, Where, open_site
from selfimprove.store.state import Facts
from selfimprove.wiring import Control, build_deps, open_quarantine, open_room


@dataclass(frozen=True)
class Stage:
    """A draft's goal as if it were in force."""

    site: Site
    facts: Facts
    deps: Deps


@dataclass(frozen=True)
class Studio:
    """Joins the rooms anew for each draft; one purse pays for all."""

    where: Where
    flags: Mapping[str, Any]
    steered: Control
    purse: Purse

    def stage(self, draft: Draft, commit: str = "", made: Sequence[str] = ()) -> Stage:
        """The rooms for a draft; raises ConfigError, TargetError.

        `commit` stands for the target's own where an agent added a benchmark of these files.
        """
        site = drafted(self.where, self.flags, draft)
        level = open_room(site, self.steered.stop).level
        facts = facts_of(site, open_quarantine(site), level)
        if commit:
            files = sorted({*facts.benchmark_files, *made})
            facts = facts.model_copy(update={"base_commit": commit, "benchmark_files": files})
        deps = build_deps(site, facts, self.steered)
        return Stage(site, facts, replace(deps, purse=self.purse))


def drafted(where: Where, flags: Mapping[str, Any], draft: Draft) -> Site:
    """The target with a draft for its goal."""
    return open_site(where, flags, goal_text(stood_in(draft)))
