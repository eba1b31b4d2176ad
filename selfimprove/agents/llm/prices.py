"""What tokens cost: from settings, else from the table kept in prices.toml, else not known."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from selfimprove.contracts.settings import ModelPrice, Settings

DATED = r"(?:[-@](?:\d{8}|\d{4}-\d{2}-\d{2}|latest))?"
"""A model may be named with the date of its snapshot, which costs the same."""
MILLION = 1_000_000


@dataclass(frozen=True)
class Tokens:
    """What one request read and wrote; `input` holds what came from the cache or went into it."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    def plus(self, more: Tokens) -> Tokens:
        """What both read and wrote."""
        return Tokens(
            self.input + more.input,
            self.output + more.output,
            self.cache_read + more.cache_read,
            self.cache_write + more.cache_write,
        )


@dataclass(frozen=True)
class Price:
    """The price of one model, and of its long requests."""

    usual: ModelPrice
    above: int | None = None
    """Tokens of input from which on `long` holds."""
    long: ModelPrice | None = None
    source: str = ""
    """Where it comes from, in words."""

    def usd(self, tokens: Tokens) -> float:
        """What one request costs, in dollars."""
        is_long = self.above is not None and tokens.input > self.above
        price = self.long if is_long and self.long is not None else self.usual
        read = price.input if price.cache_read is None else price.cache_read
        write = price.input if price.cache_write is None else price.cache_write
        fresh = tokens.input - tokens.cache_read - tokens.cache_write
        return (
            fresh * price.input
            + tokens.cache_read * read
            + tokens.cache_write * write
            + tokens.output * price.output
        ) / MILLION

    def worst(self, read: int, written: int) -> float:
        """The dearest that a request of at most this size can be, in dollars."""
        kinds = (Tokens(read, written), Tokens(read, written, cache_write=read))
        return max(self.usd(tokens) for tokens in kinds)


def price_of(provider: str, model: str, settings: Settings) -> Price | None:
    """The price of a provider's model; None where nobody has said it."""
    if model in settings.prices:
        return Price(settings.prices[model], source="settings")
    date, table = _table()
    for name, row in table.get(provider, {}).items():
        if re.fullmatch(re.escape(name) + DATED, model):
            return _price(row, f"price table of {date}")
    return None


def _price(row: dict[str, Any], source: str) -> Price:
    plain = {key: value for key, value in row.items() if not key.startswith("above")}
    usual = ModelPrice.model_validate(plain)
    if "above" not in row:
        return Price(usual, source=source)
    lengthy = {key.removeprefix("above_"): row[key] for key in row if key.startswith("above_")}
    return Price(usual, row["above"], ModelPrice.model_validate(lengthy), source)


@cache
def _table() -> tuple[str, dict[str, dict[str, Any]]]:
    text = files("selfimprove.agents.llm").joinpath("prices.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)
    return table.pop("date"), table
