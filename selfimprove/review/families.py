"""Which families a round may use, and which of them each planner gets before it plans.

Families are dealt like cards, best record first, so that no two planners share one; rarely tried
ones move up with time. Where there are fewer families than planners, a family is shared and each
of its planners gets target files of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from selfimprove.contracts.base import FAMILIES

EXPLORE = 0.5
"""Weight of being seldom tried against the record of wins."""
SUGGESTED = 0.5
"""What the brief's best idea is worth to its family, at full confidence."""
LAST_RESORT = {"testing": 2.0, "documentation": 1.0, "other": 0.25}
"""Families that seldom move a score come late."""


@dataclass(frozen=True)
class FamilyRecord:
    """How often a family was tried, and how often it won."""

    tries: int = 0
    wins: int = 0


@dataclass(frozen=True)
class FamilyFacts:
    """What families are chosen by."""

    round: int
    taxonomy: tuple[str, ...] = FAMILIES
    recent_winners: tuple[str | None, ...] = ()
    """The family that won each of the last rounds, oldest first; None where none won."""
    streak_limit: int = 3
    documentation: bool = False
    records: Mapping[str, FamilyRecord] = field(default_factory=dict)
    suggested: Mapping[str, float] = field(default_factory=dict)
    """Family -> how much the best idea for it promises, 0 to 1."""
    avoid: frozenset[str] = frozenset()
    """Families that a refinement advises against."""
    files: tuple[str, ...] = ()
    """Files that may be changed, those that matter most first."""


@dataclass(frozen=True)
class Assignment:
    """What one planner may choose from."""

    families: tuple[str, ...]
    files: tuple[str, ...] = ()
    """Where the family is shared with another planner: the files that are this planner's."""


def streaking(recent_winners: Sequence[str | None], limit: int) -> str | None:
    """Give the family that won the last `limit - 1` rounds and so must pause; None if none did."""
    last = recent_winners[-(limit - 1) :]
    if len(last) < limit - 1 or last[0] is None or len(set(last)) > 1:
        return None
    return last[0]


def allowed_families(
    taxonomy: Sequence[str], recent_winners: Sequence[str | None], limit: int
) -> tuple[str, ...]:
    """Give the families H002 leaves; all of them where it would leave none."""
    pausing = streaking(recent_winners, limit)
    left = tuple(family for family in taxonomy if family != pausing)
    return left or tuple(taxonomy)


def ranked_families(facts: FamilyFacts) -> list[str]:
    """Give the families of a round, the most promising first; never none of them."""
    allowed = allowed_families(facts.taxonomy, facts.recent_winners, facts.streak_limit)
    candidates = [f for f in allowed if f != "documentation" or facts.documentation] or [*allowed]
    candidates = [f for f in candidates if f not in facts.avoid] or candidates
    total = sum(record.tries for record in facts.records.values())

    def worth(family: str) -> float:
        record = facts.records.get(family, FamilyRecord())
        wins = (record.wins + 1) / (record.tries + 2)
        seldom = EXPLORE * math.sqrt(math.log(total + 1) / (record.tries + 1))
        idea = SUGGESTED * facts.suggested.get(family, 0.0)
        return wins + seldom + idea - LAST_RESORT.get(family, 0.0)

    return sorted(candidates, key=lambda f: (-worth(f), facts.taxonomy.index(f)))


def assign(planners: Sequence[str], facts: FamilyFacts) -> dict[str, Assignment]:
    """Deal the round's families to its planners; deterministic.

    A planner for whom neither a family nor a file of its own is left gets nothing and is not
    asked this round.
    """
    if not planners:
        return {}
    families = ranked_families(facts)
    shift = (facts.round - 1) % len(planners)
    order = [*planners[shift:], *planners[:shift]]  # so that no planner always gets the best
    dealt: dict[str, list[str]] = {planner: [] for planner in order}
    if len(families) >= len(order):
        for position, family in enumerate(families):
            dealt[order[position % len(order)]].append(family)
        found = {planner: Assignment(tuple(given)) for planner, given in dealt.items()}
    else:
        found = _shared(order, families, facts.files)
    return {planner: found[planner] for planner in planners if planner in found}


def _shared(order: list[str], families: list[str], files: Sequence[str]) -> dict[str, Assignment]:
    sharers: dict[str, list[str]] = {family: [] for family in families}
    room = max(1, len(files))
    for position, planner in enumerate(order[: len(families) * room]):
        sharers[families[position % len(families)]].append(planner)
    found: dict[str, Assignment] = {}
    for family, members in sharers.items():
        for place, planner in enumerate(members):
            own = tuple(files[place :: len(members)]) if len(members) > 1 else ()
            found[planner] = Assignment((family,), own)
    return found


def narrowed_families(assignments: Mapping[str, Assignment]) -> frozenset[str]:
    """Give the families that several planners share, each with files of its own."""
    return frozenset(f for given in assignments.values() if given.files for f in given.families)
