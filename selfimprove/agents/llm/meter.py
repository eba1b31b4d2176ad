"""Counts what asking a model costs, request by request, whatever becomes of the answer."""

from __future__ import annotations

from dataclasses import dataclass, field

from selfimprove.agents.llm.prices import Price, Tokens
from selfimprove.contracts.agent import Usage

CHARACTERS_A_TOKEN = 4
"""By which what came through is counted where a provider was cut off before it gave its count."""


@dataclass
class Meter:
    """The sum of one conversation's requests."""

    price: Price | None
    calls: int = 0
    retries: int = 0
    tokens: Tokens = field(default_factory=Tokens)
    usd: float = 0.0

    def charge(self, tokens: Tokens) -> None:
        """Book a request that a model began to answer."""
        self.calls += 1
        self.tokens = self.tokens.plus(tokens)
        if self.price is not None:
            self.usd += self.price.usd(tokens)

    def usage(self, seconds: float) -> Usage:
        """What stands in the record."""
        return Usage(
            input_tokens=self.tokens.input,
            output_tokens=self.tokens.output,
            usd=self.usd,
            duration_s=round(seconds, 3),
            calls=self.calls,
            retries=self.retries or None,
            cache_read_tokens=self.tokens.cache_read or None,
            cache_write_tokens=self.tokens.cache_write or None,
        )


def estimated(characters: int) -> int:
    """Tokens of that many characters, rounded up."""
    return -(-characters // CHARACTERS_A_TOKEN)
