"""The facts of a round as the rules and the family assignment want them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from selfimprove.contracts.base import FAMILIES
from selfimprove.contracts.plan import Plan
from selfimprove.contracts.settings import Settings
from selfimprove.deps import Deps
from selfimprove.review.context import ReviewContext
from selfimprove.review.families import FamilyFacts, FamilyRecord
from selfimprove.review.own_rules import enforced
from selfimprove.review.quality import Terms
from selfimprove.steps.base import round_of
from selfimprove.store.state import State

LOST = frozenset({"lost", "regression", "error", "timeout", "disqualified"})
"""Outcomes of an attempt that a later plan must not repeat."""


PROMISE = {"high": 1.0, "medium": 0.6, "low": 0.3}


def taxonomy(deps: Deps) -> tuple[str, ...]:
    """The contract's families and harness.md's own."""
    own = [family.name for family in deps.harness.families]
    return (*FAMILIES, *(name for name in own if name not in FAMILIES))


def recent_winners(state: State) -> tuple[str | None, ...]:
    """The family that won each of the last rounds, oldest first."""
    return tuple(
        record.winner.approach_family if record.winner else None for record in state.recent
    )


def family_facts(state: State, deps: Deps) -> FamilyFacts:
    """What families are chosen by: the record, the tree and harness.md."""
    commit = round_of(state).incumbent.commit
    return replace(
        recorded_facts(state, deps.attempts.rows(), deps.config.settings),
        taxonomy=taxonomy(deps),
        documentation=deps.workshop.documentation_in_scope(commit),
        files=tuple(deps.workshop.editable(commit)),
    )


def recorded_facts(state: State, rows: Sequence[dict[str, Any]], settings: Settings) -> FamilyFacts:
    """What the record alone says of families; `rows` are the attempts of the rounds before."""
    current = round_of(state)
    tries = Counter(row["approach_family"] for row in rows if row["outcome"] != "rejected")
    wins = Counter(row["approach_family"] for row in rows if row["outcome"] == "won")
    records = {family: FamilyRecord(tries[family], wins[family]) for family in tries}
    avoid = current.refinement.families_to_avoid if current.refinement else []
    return FamilyFacts(
        round=current.number,
        recent_winners=recent_winners(state),
        streak_limit=settings.family_streak_limit,
        records=records,
        suggested=_promises(state),
        avoid=frozenset(avoid) | _standing(state),
    )


def _promises(state: State) -> dict[str, float]:
    """How much the brief's best idea for each family promises."""
    brief = round_of(state).brief
    promised: dict[str, float] = {}
    for idea in brief.ideas if brief else ():
        worth = PROMISE[idea.confidence]
        promised[idea.approach_family] = max(worth, promised.get(idea.approach_family, 0.0))
    return promised


def _standing(state: State) -> frozenset[str]:
    """Families of plans of this round that are approved already."""
    return frozenset(plan.approach_family for plan in round_of(state).approved().values())


def review_context(state: State, deps: Deps, earlier: Sequence[Plan]) -> ReviewContext:
    """The facts that a plan of this round is held against."""
    current = round_of(state)
    commit = current.incumbent.commit
    return ReviewContext(
        tree=deps.workshop.tree_view(commit),
        taxonomy=taxonomy(deps),
        recent_winners=recent_winners(state),
        streak_limit=deps.config.settings.family_streak_limit,
        documentation=deps.workshop.documentation_in_scope(commit),
        earlier=tuple(earlier),
        narrowed=narrowed(state),
        losers=losers(deps.attempts.rows()),
        own_rules=enforced(deps.harness.rules),
        metrics=frozenset({deps.config.goal.metric.name, *current.incumbent.sub_scores}),
    )


def terms(state: State, settings: Settings, files: Sequence[str], *, levels: bool) -> Terms:
    """What the round's plans are held to, and what earlier refinements came to."""
    last = round_of(state).refinement
    return Terms(
        threshold=settings.quality_threshold,
        by_family=settings.quality_thresholds,
        files=files,
        after=last.level if last else None,
        known=state.refinements,
        levels=levels,
    )


def narrowed(state: State) -> frozenset[str]:
    """Families that several planners of this round share, each with files of its own."""
    planners = round_of(state).planners.values()
    return frozenset(family for each in planners if each.files for family in each.families)


def losers(rows: Sequence[dict[str, Any]]) -> dict[str, tuple[str, ...]]:
    """What earlier attempts did that did not win -> their plans."""
    found: dict[str, tuple[str, ...]] = {}
    for row in rows:
        if row["outcome"] in LOST:
            found[row["key"]] = (*found.get(row["key"], ()), row["plan_id"])
    return found
