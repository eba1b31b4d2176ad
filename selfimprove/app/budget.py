"""What a run may spend is settled before it spends anything: said, asked for, or refused."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from selfimprove.agents.cli_tools.agent import CliAgent
from selfimprove.app.common import say
from selfimprove.config import Config, Source
from selfimprove.config.keys import merged, nested
from selfimprove.contracts.agent import AgentRole
from selfimprove.contracts.settings import BudgetSettings, Limit, Settings
from selfimprove.errors import ConfigError, UsageError
from selfimprove.setup.forecast import Forecast, Spender, accounts_in, forecast, spenders_in
from selfimprove.site import Site
from selfimprove.store.record import load_state

BINDING = ("run", "iteration")
"""Scopes that bound a run; a step's limit alone lets it go on for as many rounds as it likes."""


def with_budget(site: Site, *, no_budget: bool, may_ask: bool) -> Site:
    """The site with a budget where models are paid; raises UsageError where there is none.

    Says what a round costs, whoever pays.
    """
    settings = site.config.settings
    spenders = spenders_in(settings)
    if not spenders:
        return site
    costs = [*expected_cost(site).lines(), *accounts(settings)]
    return budgeted(site, spenders, costs, no_budget, may_ask)


def budgeted(
    site: Site, spenders: list[Spender], costs: list[str], no_budget: bool, may_ask: bool
) -> Site:
    """The same for some of the agents, whose costs are these lines."""
    settings = site.config.settings
    for line in costs:
        say(line)
    paid = [each for each in spenders if each.paid]
    if paid and not no_budget and not _limited(settings.budget):
        site = _asked(site, paid, may_ask=may_ask)
    _ensure_priced(site, paid)
    return site


def with_recorded_budget(site: Site) -> Site:
    """The site with the limits of the run's last start, where nothing says otherwise now.

    `--budget-usd` and the answer to the question are given once, not at each resume.
    """
    recorded = load_state(site.layout).config.get("budget")
    if not recorded:
        return site
    budget = BudgetSettings.parse(recorded, "the recorded budget")
    config = site.config
    for scope, limit in budget.limits():
        for unit, value in limit.document().items():
            key = f"budget.{scope}.{unit}"
            if config.sources.get(key, Source.DEFAULT) is Source.DEFAULT:
                say(f"{key} is {value:g}, as at the last start (--no-budget lifts it)")
                config = with_limit(config, scope, unit, value)
    return replace(site, config=config)


def with_limit(config: Config, scope: str, unit: str, value: float) -> Config:
    """The same with one more limit: `run` or `roles.critic`, `usd`."""
    flat = {f"{scope}.{unit}": value}
    given = merged(config.settings.budget.document(), nested(flat))
    budget = BudgetSettings.model_validate(given)
    return replace(
        config,
        settings=config.settings.model_copy(update={"budget": budget}),
        sources={**config.sources, f"budget.{scope}.{unit}": Source.FLAG},
    )


def without_limits(roles: Iterable[AgentRole]) -> dict[str, Any]:
    """The flags that lift every budget, those of these roles included."""
    scopes = ("run", "iteration", "step", "call", *(f"roles.{role}" for role in roles))
    return {f"budget.{scope}": dict.fromkeys(Limit.model_fields) for scope in scopes}


def accounts(settings: Settings) -> list[str]:
    """Who pays for coding CLIs, a line each."""
    return [f"{spec} is paid for by {words}" for spec, words in accounts_in(settings)]


def expected_cost(site: Site) -> Forecast:
    """What a round of this site's agents costs, from its record where there is one."""
    return forecast(site.config.settings, load_state(site.layout))


def _limited(budget: BudgetSettings) -> bool:
    return any(getattr(budget, scope).document() for scope in BINDING)


def _ensure_priced(site: Site, paid: list[Spender]) -> None:
    """A budget in dollars is no budget for a model whose price nobody has said."""
    budget = site.config.settings.budget
    in_dollars = any(limit.usd is not None for _, limit in budget.limits())
    for each in (each for each in paid if not each.priced):
        if in_dollars:
            named = f"set prices.{each.model} (dollars a million tokens)"
            remedy = named if each.model else f"name its model ({each.spec}:MODEL)"
            raise ConfigError(
                f"agents: no price is known for {each.spec}, so no budget in dollars can be kept",
                f"{remedy}, or limit tokens",
            )
        say(f"no price is known for {each.spec}: its dollars are not counted")
    held = [each for each in paid if not _by_subscription(each)]
    if in_dollars and paid and not held:
        say("a subscription costs no dollars: budget.run.calls, tokens or minutes limit it")


def _by_subscription(each: Spender) -> bool:
    return isinstance(each, CliAgent) and not each.by_token


def _asked(site: Site, paid: list[Spender], *, may_ask: bool) -> Site:
    specs = ", ".join(each.spec for each in paid)
    if not (may_ask and sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            f"{specs} is paid for and this run has no budget", "add --budget-usd N, or --no-budget"
        )
    import click

    unit, what = "usd", "Dollars this run may spend on"
    if all(map(_by_subscription, paid)):
        unit, what = "calls", "Calls this run may make to"
    told = click.prompt(f"{what} {specs} (or 'none' for no limit)", type=str, err=True)
    if told.strip().lower() == "none":
        return site
    try:
        most = float(told.strip().removeprefix("$"))
    except ValueError:
        most = -1.0
    if not 0 < most < float("inf") or (unit == "calls" and not most.is_integer()):
        wanted = "amount of dollars" if unit == "usd" else "number of calls"
        raise UsageError(f"{told!r} is no {wanted}", "add --budget-usd N, or --no-budget")
    return replace(site, config=with_limit(site.config, "run", unit, most))
