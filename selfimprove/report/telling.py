"""What a span says of a message: names and attributes as OpenTelemetry has them; pure.

Of model calls in the words of its conventions for generative AI, of everything else below
`selfimprove.`. What agents were told and what they said is in none of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from selfimprove.contracts.agent import Usage
from selfimprove.store.state import Round, State

Attribute = str | bool | int | float
Attributes = dict[str, Attribute]
Payload = Mapping[str, Any]

OURS = "selfimprove"
NO_MODEL = frozenset({"offline", "command", "scripted"})
"""Schemes of specs that name no model of a provider's."""
TOLD = {
    "gate": ("planner", "executor", "decision"),
    "planner_failed": ("planner",),
    "planning_again": (),
    "confirmation": ("executor", "holds"),
    "holdout": ("executor", "answer"),
    "waiting": ("until",),
    "waited": ("seconds",),
    "decided": ("decision",),
}
"""Event of the journal that stands on its step -> what of it is told."""


@dataclass(frozen=True)
class Told:
    """How a span begins."""

    name: str
    attributes: Attributes = field(default_factory=dict)
    remote: bool = False
    """Whether it waits for a model's provider."""


def of_call(payload: Payload) -> Told:
    """An intent: an agent is asked, a measurement begins, a ref is to move."""
    tool, args = payload["tool"], payload.get("args", {})
    if tool == "agent.ask":
        return _asked(args)
    given = {name: args.get(name) for name in ("executor", "purpose", "commit", "canary")}
    return Told(tool, {f"{OURS}.tool": tool} | ours(given))


def _asked(args: Payload) -> Told:
    agent, spec = str(args.get("agent", "")), str(args.get("spec", ""))
    provider, model = provider_of(spec)
    told: Attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": agent,
        **({"gen_ai.conversation.id": args["session_id"]} if args.get("session_id") else {}),
        **ours({name: args.get(name) for name in ("role", "spec", "attempt")}),
    }
    if provider:
        told |= {"gen_ai.provider.name": provider, "gen_ai.system": provider}
    if model:
        told["gen_ai.request.model"] = model
    return Told(f"invoke_agent {agent}", told, remote=bool(provider))


def provider_of(spec: str) -> tuple[str, str]:
    """The provider and the model that a spec names; both empty for an agent that is no model."""
    scheme, _, rest = spec.partition(":")
    if not scheme or scheme in NO_MODEL:
        return "", ""
    return scheme, re.split(r"@(?=https?://)", rest, maxsplit=1)[0].strip()


def of_result(payload: Payload) -> Attributes:
    """What came of an intent: what it cost, which score it gave."""
    result = payload["result"]
    if payload["tool"] == "agent.ask":
        return _cost(Usage.model_validate(payload.get("metrics", {})))
    if "sample" in result:
        return ours({"score": result["sample"].get("score")})
    if "pair" in result:
        scores = {f"score.{side}": result["pair"][side]["score"] for side in _SIDES}
        return ours(scores)
    return {}


_SIDES = ("incumbent", "candidate")


def _cost(usage: Usage) -> Attributes:
    told: Attributes = {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
    }
    if usage.cache_read_tokens is not None:
        told["gen_ai.usage.cache_read.input_tokens"] = usage.cache_read_tokens
    if usage.cache_write_tokens is not None:
        told["gen_ai.usage.cache_creation.input_tokens"] = usage.cache_write_tokens
    return told | ours({"calls": usage.counted, "usd": usage.usd, "retries": usage.retries})


def failure(payload: Payload) -> str:
    """Of what kind a result's failure is: `timeout`, `crash`, …; empty where it is none."""
    result = payload["result"]
    if payload["tool"] == "agent.ask":
        return "" if result.get("ok") else str(result.get("kind", "failed"))
    failed = result.get("failed")
    return str(failed.get("category", "failed")) if isinstance(failed, dict) else ""


def of_event(payload: Payload) -> Attributes | None:
    """What an event of a step says of itself; None for one that is not told."""
    event = str(payload.get("event"))
    if event == "result":
        found = payload["result"]
        return ours(
            {
                "executor": found["executor_id"],
                "status": found["status"],
                "score": found["benchmark_score"],
            }
        )
    if event == "merge_report":
        return ours({"status": payload["report"]["status"]})
    if event == "quality":
        report = payload["report"]
        return ours({name: report[name] for name in ("total", "verified", "quality_score")})
    if event not in TOLD:
        return None
    return ours({name: payload.get(name) for name in TOLD[event]})


def of_run(state: State) -> Attributes:
    """Which run it is, and what its score is of."""
    facts = state.facts
    if facts is None:
        return {}
    told = {"run.id": facts.run_id, "topic": facts.topic, "goal": facts.goal_slug}
    return ours(told | {"metric": facts.metric, "level": facts.level})


def of_stop(state: State) -> Attributes:
    """Where a run stands as it stops: the whole of it, whichever start spent it."""
    totals, settings = state.totals, state.settings
    return ours(
        {
            "status": state.status,
            "rounds": state.number,
            "wins": state.wins_total,
            "calls": totals.calls,
            "tokens": totals.tokens,
            "usd": totals.usd,
            "score": settings.best_score if settings else None,
        }
    )


def of_round(current: Round) -> Attributes:
    """What a round came to."""
    winner = current.history.winner if current.history else None
    told: dict[str, Any] = {"round.status": current.status}
    if winner:
        told |= {"winner": winner.plan_id, "score": winner.score}
    return ours(told)


def ours(values: Mapping[str, Any]) -> Attributes:
    """Attributes of our own; those that are not known are left out."""
    return {f"{OURS}.{name}": value for name, value in values.items() if value is not None}
