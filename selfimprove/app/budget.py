"""What a run may spend is settled before it spends anything: said, asked for, or refused."""

from __future__ import annotations

import sys
from dataclasses import replace

from selfimprove.agents.llm.agent import ModelAgent
from selfimprove.app.common import say
from selfimprove.config import Source
from selfimprove.contracts.settings import BudgetSettings, Limit
from selfimprove.errors import ConfigError, UsageError
from selfimprove.setup.forecast import Forecast, forecast, models_in
from selfimprove.site import Site
from selfimprove.store.record import load_state

BINDING = ("run", "iteration")
"""Scopes that bound a run; a step's limit alone lets it go on for as many rounds as it likes."""


def with_budget(site: Site, *, no_budget: bool, may_ask: bool) -> Site:
    """The site with a budget where models are paid; raises UsageError where there is none.

    Says what a round costs, whoever pays.
    """
    models = models_in(site.config.settings)
    if not models:
        return site
    expected = expected_cost(site)
    for line in expected.lines():
        say(line)
    paid = [model for model in models if model.name.paid]
    if paid and not no_budget and not _limited(site.config.settings.budget):
        site = _asked(site, paid, may_ask=may_ask)
    _ensure_priced(site, paid)
    return site


def expected_cost(site: Site) -> Forecast:
    """What a round of this site's agents costs, from its record where there is one."""
    return forecast(site.config.settings, load_state(site.layout))


def _limited(budget: BudgetSettings) -> bool:
    return any(getattr(budget, scope).document() for scope in BINDING)


def _ensure_priced(site: Site, paid: list[ModelAgent]) -> None:
    """A budget in dollars is no budget for a model whose price nobody has said."""
    budget = site.config.settings.budget
    in_dollars = any(getattr(budget, scope).usd is not None for scope in (*BINDING, "step"))
    unpriced = [model for model in paid if model.price is None]
    for model in unpriced:
        if in_dollars:
            raise ConfigError(
                f"agents: no price is known for {model.spec}, so no budget in dollars can be kept",
                f"set prices.{model.name.model} (dollars a million tokens), or limit tokens",
            )
        say(f"no price is known for {model.spec}: its dollars are not counted")


def _asked(site: Site, paid: list[ModelAgent], *, may_ask: bool) -> Site:
    specs = ", ".join(model.spec for model in paid)
    if not (may_ask and sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            f"{specs} is paid for and this run has no budget", "add --budget-usd N, or --no-budget"
        )
    import click

    told = click.prompt(
        f"Dollars this run may spend on {specs} (or 'none' for no limit)", type=str, err=True
    )
    if told.strip().lower() == "none":
        return site
    try:
        usd = float(told.strip().removeprefix("$"))
    except ValueError:
        usd = -1.0
    if not 0 < usd < float("inf"):
        raise UsageError(f"{told!r} is no amount of dollars", "add --budget-usd N, or --no-budget")
    settings = site.config.settings
    run = Limit.model_validate({**settings.budget.run.document(), "usd": usd})
    budget = settings.budget.model_copy(update={"run": run})
    sources = {**site.config.sources, "budget.run.usd": Source.FLAG}
    config = replace(
        site.config, settings=settings.model_copy(update={"budget": budget}), sources=sources
    )
    return replace(site, config=config)
