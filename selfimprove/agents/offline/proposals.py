"""Words for a change: hypothesis, steps, estimates, history; what a plan says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from selfimprove.agents.offline.attempts import Attempt, rule_of
from selfimprove.agents.offline.chooser import Choice
from selfimprove.agents.offline.idea import SET_VALUE, ChangeIdea, one_line, tool_args
from selfimprove.agents.offline.profile import Profile


def hypothesis(choice: Choice, metric: str) -> str:
    """One sentence, one change: the same change gives the same sentence."""
    idea = choice.idea
    if idea.tool == SET_VALUE:
        what = f"Setting {idea.name} in {idea.path} to {choice.value} instead of {idea.old}"
    else:
        what = f"Applying {idea.name} at line {idea.line} ({idea.title[0].lower()}{idea.title[1:]})"
    return f"{what} should improve {metric} because {idea.why}"


def plan(
    choice: Choice, context: Mapping[str, Any], attempts: tuple[Attempt, ...]
) -> dict[str, Any]:
    """Write a plan document; ids, round and reviews are the orchestrator's."""
    idea = choice.idea
    profile = Profile.of(context)
    metric = _metric(context)
    told = [a for a in attempts if a.key == idea.key]
    return {
        "hypothesis": hypothesis(choice, metric),
        "approach_family": idea.family,
        "target_files": [idea.path],
        "steps": [{"step": 1, "file": idea.path, "change": _change(choice)}],
        "expected_outcome": {
            "metric": metric,
            "estimated_impact": impact(idea, profile),
            "rationale": f"{idea.path}:{idea.line}: {idea.excerpt}; {idea.why}",
            "sub_score_expectations": {},
        },
        "history_reference": history(idea, attempts),
        "reflection": _reflection(choice, told),
        "confidence": round(min(0.95, 0.15 + 0.7 * idea.prior * (1 if idea.safe else 0.75)), 2),
        "tool_plan": [
            {
                "id": "edit_1",
                "tool": idea.tool,
                "args": tool_args(idea, choice.value),
                "success_criteria": [_criterion(choice)],
            }
        ],
        "rollback_plan": "the candidate is one commit; it is dropped unless it proves better",
    }


def history(idea: ChangeIdea, attempts: tuple[Attempt, ...]) -> dict[str, str]:
    """Name the wins a change builds on, and the losers it differs from."""
    near = [a for a in attempts if a.key == idea.key]
    rule = rule_of(idea.name)
    near += [a for a in attempts if a not in near and a.path == idea.path and a.rule == rule]
    wins = [a for a in near if a.won] or [a for a in attempts if a.won and a.path == idea.path]
    losers = [a for a in near if not a.won and a.outcome]
    return {
        "builds_on": "; ".join(_named(a) for a in wins[-2:]) or "none",
        "avoids": "; ".join(_named(a) for a in losers[-4:]) or "none",
    }


def impact(idea: ChangeIdea, profile: Profile) -> str:
    """Estimate a relative gain from the prior and the share of time that it touches."""
    share = profile.share(idea.path, idea.users or (idea.symbol,))
    high = max(1, round(60 * idea.prior * share))
    low = max(0, round(high / 6))
    return f"{low}-{high}%"


def evidence(idea: ChangeIdea, profile: Profile) -> str:
    """Say where an idea comes from, as a person would check it."""
    said = f"{idea.path}:{idea.line}: `{idea.excerpt}`: {idea.why}"
    wanted = {user.rsplit(".", 1)[-1] for user in idea.users}
    hot = [f for f in profile.functions if f.file == idea.path and f.function in wanted]
    if hot:
        best = max(hot, key=lambda f: f.cumulative)
        said += (
            f"; {best.function} takes {best.cumulative:.0%} of the profiled time"
            f" ({best.own:.0%} in itself, {best.calls} calls)"
        )
    if idea.tool == SET_VALUE:
        said += f"; to try: {', '.join(idea.values[:6])}"
    return said


def _change(choice: Choice) -> str:
    idea = choice.idea
    if idea.tool == SET_VALUE:
        return f"{idea.path}::{idea.name} = {choice.value}"
    first = idea.hunks[0]
    places = f" and {len(idea.hunks) - 1} more places" if len(idea.hunks) > 1 else ""
    return (
        f"{idea.title}: line {first.line}{places}, rule {idea.name}: "
        f"`{one_line(first.old)}` becomes `{one_line(first.new)}`"
    )


def _criterion(choice: Choice) -> str:
    idea = choice.idea
    if idea.tool == SET_VALUE:
        return f"{idea.name} reads {choice.value}; nothing else in {idea.path} differs"
    return f"{idea.path} still parses; only the named lines differ"


def _reflection(choice: Choice, told: list[Attempt]) -> dict[str, Any]:
    idea = choice.idea
    risks = ["it may make no measurable difference"]
    if not idea.safe:
        risks.append("it may change what the program does in odd cases; guards would show it")
    learned = [
        f"{a.new or a.rule} was {a.outcome}" + (f" ({a.gain:+.1%})" if a.gain is not None else "")
        for a in told[-5:]
    ]
    return {
        "strategy": f"one change at one place, so that its effect can be told: {idea.title}",
        "assumptions": ["the benchmark runs the code that is changed", *learned],
        "risks": risks,
        "success_criteria": "the score improves beyond noise and every guard stays green",
        "anticipated_issues": [] if idea.safe else ["a guard may fail"],
    }


def _metric(context: Mapping[str, Any]) -> str:
    metric = (context.get("goal") or {}).get("metric") or {}
    return str(metric.get("name") or "the score")


def _named(attempt: Attempt) -> str:
    gain = f" {attempt.gain:+.1%}" if attempt.gain is not None else ""
    what = f"{attempt.rule} = {attempt.new}" if attempt.new else attempt.rule
    return f"{attempt.plan_id} ({what}: {attempt.outcome}{gain})"
