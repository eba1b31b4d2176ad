"""What no single setting can know: that two of them cannot both be meant; pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Protocol, get_args

from selfimprove.contracts.agent import AgentRole
from selfimprove.contracts.base import FAMILIES
from selfimprove.contracts.goal import Goal
from selfimprove.contracts.settings import Settings
from selfimprove.errors import ConfigError
from selfimprove.expressions import contradiction, expression
from selfimprove.words import in_words

NOT_YET = (
    "auto_pr",
    "upstream_url",
)
"""Settings that are read and checked but that nothing carries out yet; said, where they are set."""

NO_MODELS = frozenset({"", "offline", "command", "scripted"})
"""Schemes of agents that are code, or of which nobody can tell what is behind them."""
ROLES: tuple[str, ...] = get_args(AgentRole)


class Origins(Protocol):
    """Says where a setting was said."""

    def where(self, key: str) -> str:
        """The place, in words."""

    def from_goal(self, key: str) -> bool:
        """Whether goal.md said it."""


def check(settings: Settings, goal: Goal, origins: Origins) -> Iterator[str]:
    """Raise ConfigError for what cannot be meant; yield warnings for what may not be."""
    _check_direction(settings, goal, origins)
    _check_format(settings, origins)
    _check_measures(settings, origins)
    _check_agents(settings, origins)
    _check_variables(settings, origins)
    _check_services(settings, origins)
    yield from _doubts(settings, goal, origins)
    yield from _not_in_force(settings, origins)


def _check_direction(settings: Settings, goal: Goal, origins: Origins) -> None:
    better = settings.benchmark_direction or goal.metric.direction
    turned = better != goal.metric.direction
    if turned and settings.target_value is not None and origins.from_goal("target_value"):
        raise ConfigError(
            f"{origins.where('benchmark_direction')}: benchmark_direction is {better}, but goal.md "
            f"wants {in_words(goal.metric.direction)}, with the target {settings.target_value:g}",
            "set target_value there too, or correct goal.md",
        )
    if settings.benchmark_format == "pass_fail" and better == "lower_is_better":
        raise ConfigError(
            f"{origins.where('benchmark_format')}: a pass_fail benchmark scores 1 for pass, but "
            "lower is said to be better",
            "set benchmark_direction to higher_is_better",
        )
    own = settings.sub_scores.get(settings.primary_metric)
    if own and own.direction != better:
        raise ConfigError(
            f"{origins.where('sub_scores')}: {settings.primary_metric!r} is the metric itself, "
            f"which wants {in_words(better)}",
            "take it out of sub_scores",
        )


def _check_format(settings: Settings, origins: Origins) -> None:
    kind, _, pattern = settings.benchmark_format.partition(":")
    if kind == "regex":
        try:
            re.compile(pattern)
        except re.error as error:
            raise ConfigError(
                f"{origins.where('benchmark_format')}: the pattern {pattern!r} does not compile",
                f"mend it: {error}",
            ) from None


def _check_measures(settings: Settings, origins: Origins) -> None:
    where = origins.where("constraints")
    for text in settings.constraints:
        if expression(text) is None:
            raise ConfigError(
                f"{where}: cannot read the constraint {text!r}", "write 'accuracy >= 0.98'"
            )
    if clash := contradiction(settings.constraints):
        raise ConfigError(f"{where}: {clash[0]!r} and {clash[1]!r} cannot both hold", "drop one")
    for name, count in Counter(guard.name for guard in settings.guards).items():
        if count > 1:
            raise ConfigError(
                f"{origins.where('guards')}: {count} guards are named {name!r}", "rename one"
            )


def _check_agents(settings: Settings, origins: Origins) -> None:
    for role, spec in settings.agents.items():
        where = origins.where(f"agents.{role}")
        if role not in ROLES:
            near = get_close_matches(role, ROLES, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"roles are {', '.join(ROLES)}"
            raise ConfigError(f"{where}: {role!r} is no role", hint)
        if not spec or (isinstance(spec, list) and not all(spec)):
            raise ConfigError(f"{where}: no agent is named for {role!r}", "write 'offline'")
        if isinstance(spec, list) and role != "planner":
            raise ConfigError(
                f"{where}: {role!r} takes one agent, not a list", f"write {spec[0]!r}"
            )


def _check_services(settings: Settings, origins: Origins) -> None:
    for name, count in Counter(one.name for one in settings.services).items():
        if count > 1:
            where = origins.where("services")
            raise ConfigError(f"{where}: {count} services are named {name!r}", "rename one")


def _check_variables(settings: Settings, origins: Origins) -> None:
    names = {"env": settings.env, "seed_env": [settings.seed_env] if settings.seed_env else []}
    for key, variables in names.items():
        for name in variables:
            if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
                raise ConfigError(
                    f"{origins.where(key)}: {key}: {name!r} is no name of a variable",
                    "write the name alone, without = and value",
                )


def _doubts(settings: Settings, goal: Goal, origins: Origins) -> Iterator[str]:
    planners = settings.agents.get("planner", "")
    if isinstance(planners, list) and len(planners) > settings.number_of_agents:
        yield (
            f"{len(planners)} planners are named, but number_of_agents is "
            f"{settings.number_of_agents}: the last ones are not used"
        )
    yield from _own_critics(settings)
    if settings.primary_metric != goal.metric.name and origins.from_goal("target_value"):
        yield (
            f"primary_metric is {settings.primary_metric!r} ({origins.where('primary_metric')}), "
            f"while goal.md's target {goal.metric.target_value} is for {goal.metric.name!r}"
        )
    for family in settings.quality_thresholds:
        near = [] if family in FAMILIES else get_close_matches(family, FAMILIES, 1)
        if near:  # harness.md may have families of its own
            where = origins.where("quality_thresholds")
            yield f"{where}: quality_thresholds names {family!r}: did you mean {near[0]!r}?"
    limits = settings.round_timeout, settings.benchmark_timeout
    if limits[0] and limits[1] and limits[0] < limits[1]:
        yield "round_timeout is shorter than benchmark_timeout: a round may end first"


def _own_critics(settings: Settings) -> Iterator[str]:
    """One line where a critic is the very model whose work it judges: it shares its blind spots."""
    critic = settings.agents.get("critic", "")
    if not isinstance(critic, str) or not settings.number_of_max_critics:
        return
    judged = ["planner", "executor"] if settings.critique_execution else ["planner"]
    same = [
        f"{role}s"
        for role in judged
        if _model(critic) and any(_model(critic) == _model(spec) for spec in _specs(settings, role))
    ]
    if same:
        yield (
            f"critic and {' and '.join(same)} are one model ({critic}), which overlooks in others "
            "what it overlooks in itself: set agents.critic (--critic) to another"
        )


def _specs(settings: Settings, role: str) -> list[str]:
    given = settings.agents.get(role, "")
    return [given] if isinstance(given, str) else given


def _model(spec: str) -> str:
    """The model that a spec names, whoever serves it; the tool where it names none."""
    scheme, _, rest = spec.partition(":")
    if scheme in NO_MODELS:
        return ""
    return rest.partition("@")[0].strip() or scheme


def _not_in_force(settings: Settings, origins: Origins) -> Iterator[str]:
    """One line on everything that is set and has no effect, so that nobody relies on it."""
    default = Settings()
    named = [
        _as_said(settings, name, origins)
        for name in NOT_YET
        if getattr(settings, name) != getattr(default, name)
    ]
    if named:
        yield f"not in force in this version: {', '.join(named)}"


def _as_said(settings: Settings, name: str, origins: Origins) -> str:
    value = getattr(settings, name)
    if not origins.from_goal(name) or not isinstance(value, list | dict):
        return name
    return f"{name} of goal.md ({'; '.join(value)})"
