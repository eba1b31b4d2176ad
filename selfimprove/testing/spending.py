"""Plays runs with budgets drawn at random, against a loopback server that keeps its own accounts.

    played(4, Path("/tmp/spending"))    # the fourth run there is

What a run may spend, of what (calls, tokens, dollars), as a whole or in each round, step or role,
which protocol its models speak, how much they say and how often the server has a bad moment: all
follows from the run's number. A budget is passed where the server's own count is above it.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from selfimprove.testing.models import Cut, Fail, ModelServer, Prices, Refuse, Trouble
from selfimprove.testing.models.brains import calling, lowering, playing, setting, who
from selfimprove.testing.models.said import Booking, Brain, Say, Turn
from selfimprove.testing.models.server import KEY, MODEL
from selfimprove.testing.rehearsal import rehearse

ROLES = ("researcher", "planner", "architect", "critic", "executor")
STEPS = {"researcher": "research", "planner": "planning", "executor": "execution"}
"""Role -> the step that asks it; the others review."""
SPECS = ("anthropic:{}", "openai:{}", "openai-compatible:{}@{}/v1")
PRICES = {"input": 3.0, "output": 15.0, "cache_read": 0.3, "cache_write": 3.75}
TROUBLE: tuple[Trouble, ...] = (
    Refuse(429, {"retry-after": "0"}, kind="rate_limit_error"),
    Refuse(529, kind="overloaded_error"),
    Refuse(500, kind="api_error"),
    Cut(),
    Fail(),
)
CAPS = {"calls": (2, 30), "tokens": (17_000, 120_000), "usd": (0.2, 0.8)}
"""Between what a budget is drawn, evenly on a logarithmic scale."""


@dataclass(frozen=True)
class Spending:
    """One run: its budget, and the most that anything it binds spent by the server's count."""

    budget: str
    """`run.usd`, `roles.critic.tokens`, …"""
    cap: float
    spent: float
    status: str
    agrees: bool
    """Whether run.json has the server's own totals; or more, where an answer broke off in a
    protocol that counts at its end: then the most it can have been is booked."""

    @property
    def above(self) -> float:
        """By how much the budget was passed, as a share of it; 0 where it was not."""
        return max(0.0, self.spent / self.cap - 1)


def played(number: int, folder: Path) -> Spending:
    """Play one run to its end, in this process."""
    draw = random.Random(number)
    scope = draw.choice(["run", "iteration", "step", *(f"roles.{role}" for role in ROLES)])
    kind = draw.choice(list(CAPS))
    low, high = CAPS[kind]
    cap: float = low * (high / low) ** draw.random()
    cap = round(cap) if kind != "usd" else round(cap, 3)
    rate = draw.choice([0.0, 0.05, 0.15])
    talk = draw.choice([0, 500, 8_000])
    with _serving(_talking(talk, number), _troubled(number, rate)) as server:
        spec = draw.choice(SPECS).format(MODEL, server.url)
        settings: dict[str, Any] = {f"agents.{role}": spec for role in ROLES}
        settings |= {"prices": {MODEL: PRICES}, "number_of_agents": draw.randint(1, 3)}
        play = rehearse(folder, settings={**settings, f"budget.{scope}.{kind}": cap})
        outcome = play.run(max_iterations=2)
    ledger = server.ledger
    return Spending(
        budget=f"{scope}.{kind}",
        cap=cap,
        spent=max(_shares(ledger.bookings, scope, kind).values(), default=0.0),
        status=outcome.state.status,
        agrees=_agrees(play.document("state/run.json")["totals"], server, spec),
    )


def _agrees(totals: dict[str, Any], server: ModelServer, spec: str) -> bool:
    ledger = server.ledger
    more = (
        totals["calls"] - ledger.calls,
        totals["tokens"] - ledger.input_tokens - ledger.output_tokens,
        round(totals["usd"] - ledger.usd, 6),
    )
    counts_late = ledger.cut and not spec.startswith("anthropic:")
    return min(more) >= 0 if counts_late else more == (0, 0, 0)


def _talking(most: int, number: int) -> Brain:
    """Agents that play their part and say more or less besides, the same at each turn."""
    inner = playing(planner=lowering, executor=setting, critic=_reading)

    def brain(turn: Turn) -> Say:
        said = inner(turn)
        draw = random.Random(f"{number} {who(turn)} {turn.turn}")
        more = "so it is. " * (draw.randint(0, most) // 10)
        return Say(said.text + more, said.calls, said.refuses)

    return brain


def _reading(turn: Turn, _name: str) -> Say:
    """A critic that reads a file three times, then approves."""
    answer = {"score": 1.0, "issues": [], "summary": ""}
    return calling("read", path="src/a") if len(turn.done) < 3 else calling("answer", **answer)


def _troubled(number: int, rate: float) -> Any:
    def trouble(request: int) -> Trouble:
        draw = random.Random(f"{number} {request}")
        return draw.choice(TROUBLE) if draw.random() < rate else None

    return trouble


@contextmanager
def _serving(brain: Brain, trouble: Any) -> Iterator[ModelServer]:
    with ModelServer(brain, trouble=trouble, prices=Prices(**PRICES)) as server:
        known = {f"{name}_API_KEY": KEY for name in ("ANTHROPIC", "OPENAI", "OPENAI_COMPATIBLE")}
        known |= {"ANTHROPIC_BASE_URL": server.url, "OPENAI_BASE_URL": f"{server.url}/v1"}
        with patch.dict(os.environ, known):
            yield server


def _shares(bookings: list[Booking], scope: str, kind: str) -> Counter[str]:
    """What each run, round, step or holder of a role spent by the server's count."""
    shares: Counter[str] = Counter()
    for booking in bookings:
        name = who(booking.turn)
        role = name.split("_")[0]
        if scope.startswith("roles.") and scope != f"roles.{role}":
            continue
        number = _round(booking.turn)
        whole = {"run": "run", "step": f"{number} {STEPS.get(role, 'critic_review')}"}
        amount = {"calls": 1, "tokens": booking.tokens, "usd": booking.usd}[kind]
        shares[whole.get(scope, number)] += amount  # type: ignore[assignment]
    return shares


def _round(turn: Turn) -> str:
    return next(line for line in turn.prompt.splitlines() if line.startswith("Round ")).split(";")[
        0
    ]


def told(runs: list[Spending]) -> str:
    """What came of all of them, as one line of JSON."""
    ends = Counter(run.status for run in runs)
    return json.dumps(
        {
            "runs": len(runs),
            "ended_by": dict(ends),
            "above": [f"{run.budget}: {run.spent:g} of {run.cap:g}" for run in runs if run.above],
            "closest": round(max((run.spent / run.cap for run in runs), default=0.0), 4),
            "totals_differ": sum(not run.agrees for run in runs),
        }
    )
