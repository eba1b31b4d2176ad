"""What tokens cost, and who is paid for them."""

from __future__ import annotations

import pytest

from selfimprove.agents.llm.names import parse_name
from selfimprove.agents.llm.prices import Tokens, price_of
from selfimprove.contracts.settings import ModelPrice, Settings

NONE = Settings()


def usd(provider: str, model: str, tokens: Tokens, settings: Settings = NONE) -> float:
    price = price_of(provider, model, settings)
    assert price is not None
    return price.usd(tokens)


def test_each_kind_of_token_has_its_price() -> None:
    tokens = Tokens(input=10_000, output=1_000, cache_read=6_000, cache_write=3_000)
    # claude-opus-5-5: 4, 20, 0.2 and 5 dollars a million
    expected = (1_000 * 4 + 1_000 * 20 + 6_000 * 0.2 + 3_000 * 5) / 1e6
    assert usd("anthropic", "claude-opus-5-5", tokens) == pytest.approx(expected)


def test_a_long_request_costs_more_as_a_whole() -> None:
    short, long = Tokens(input=100_000), Tokens(input=100_001)
    assert usd("anthropic", "claude-haiku-5-5", short) == pytest.approx(0.01)
    assert usd("anthropic", "claude-haiku-5-5", long) == pytest.approx(0.0500005)


@pytest.mark.parametrize("date", ["", "-20261001", "@20261001", "-2026-10-01", "-latest"])
def test_a_dated_snapshot_costs_the_same(date: str) -> None:
    one = Tokens(input=1_000_000)
    assert usd("anthropic", f"claude-opus-5-5{date}", one) == pytest.approx(4)


@pytest.mark.parametrize("model", ["claude-opus-5-55", "claude-opus-5-5-turbo", "gpt-9"])
def test_what_nobody_said_is_not_guessed(model: str) -> None:
    assert price_of("anthropic", model, NONE) is None


def test_settings_win() -> None:
    mine = Settings(prices={"claude-opus-5-5": ModelPrice(input=1, output=2)})
    tokens = Tokens(input=1_000_000, output=1_000_000, cache_read=500_000)
    assert usd("anthropic", "claude-opus-5-5", tokens, mine) == pytest.approx(3)


@pytest.mark.parametrize(
    ("argument", "paid"),
    [
        ("m@http://127.0.0.1:8000/v1", False),
        ("m@http://localhost:8000/v1", False),
        ("m@http://[::1]:8000/v1", False),
        ("m@https://api.example.com/v1", True),
        ("m@http://127.0.0.1.example.com/v1", True),
    ],
)
def test_what_runs_here_is_free(argument: str, paid: bool) -> None:
    assert parse_name("openai-compatible", argument).paid is paid
    assert parse_name("anthropic", "m").paid
