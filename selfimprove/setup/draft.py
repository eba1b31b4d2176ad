"""A goal in the making: what flags or answers said so far, in a person's words."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from selfimprove.contracts.goal import Goal
from selfimprove.contracts.setup import SaidGoal
from selfimprove.errors import UsageError
from selfimprove.goalfile import parse_goal, render_goal
from selfimprove.goalfile.render import code, rule_line
from selfimprove.markdown import without_comments


@dataclass(frozen=True)
class Draft:
    """Every field as a person would write it in goal.md; empty where nothing was said."""

    objective: str = ""
    metric: str = ""
    direction: str = ""
    target: str = ""
    in_scope: tuple[str, ...] = ()
    out_of_scope: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    command: str = ""
    format: str = ""
    timeout: str = ""
    sealed: tuple[str, ...] = ()
    guards: tuple[str, ...] = ()
    """Commands, and lines such as `accuracy >= 0.98`."""
    ideas: tuple[str, ...] = ()


_NEEDED = {
    "objective": "--objective",
    "metric": "--metric",
    "in_scope": "--scope",
    "command": "--command",
}
_STAND_INS: dict[str, Any] = {
    "objective": "Not said yet",
    "metric": "score",
    "direction": "lower",
    "in_scope": ("*",),
    "command": "true",
}
_BOUNDS = ("<", ">", "≤", "≥")
"""How a target begins that says which way is better."""


def missing(draft: Draft) -> list[str]:
    """The flags without which no goal can be written."""
    flags = [flag for name, flag in _NEEDED.items() if not getattr(draft, name)]
    bounded = draft.target.strip()[:1] in _BOUNDS or draft.format == "pass_fail"
    return flags if draft.direction or bounded else [*flags, "--direction"]


def ensure_said(draft: Draft) -> None:
    """Raise UsageError where a benchmark cannot be built for want of what it is to measure."""
    needed = ("--objective", "--scope")
    if flags := [flag for flag in missing(draft) if flag in needed]:
        raise _unsaid(flags)


def _unsaid(flags: list[str]) -> UsageError:
    return UsageError(
        f"nothing was said for {', '.join(flags)}", "give these, or run in a terminal"
    )


def goal_of(draft: Draft) -> Goal:
    """The checked goal; UsageError for what is missing, ConfigError for what is not understood."""
    if flags := missing(draft):
        raise _unsaid(flags)
    return parse_goal(written(draft), "the answers")


def goal_text(draft: Draft) -> str:
    """The goal.md of a draft."""
    return render_goal(goal_of(draft))


def stood_in(draft: Draft) -> Draft:
    """The draft with something that will do in place of what is not said yet.

    So that what is said can be read already, and a repository be opened with it.
    """
    bounded = draft.target.strip()[:1] in _BOUNDS or draft.format == "pass_fail"
    given = {name: value for name, value in _STAND_INS.items() if not getattr(draft, name)}
    if bounded:
        given.pop("direction", None)
    return replace(draft, **given)


def merged(draft: Draft, said: SaidGoal) -> Draft:
    """The draft with what an agent understood; what it leaves empty stays as it was."""
    given = {name: value for name, value in said.document().items() if value}
    made: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in given.items()}
    return replace(draft, **made)


def said(draft: Draft) -> dict[str, Any]:
    """What a draft says, for an agent; what is hidden is hidden from agents too."""
    told = asdict(draft)
    return {name: value for name, value in told.items() if value and name != "hidden"}


def draft_of(goal: Goal) -> Draft:
    """What an existing goal says, to go on from."""
    metric, scope, spec = goal.metric, goal.scope, goal.benchmark
    rules = (rule_line(name, rule) for name, rule in goal.sub_scores.items())
    return Draft(
        objective=goal.objective,
        metric=metric.name,
        direction=metric.direction,
        target=""
        if metric.target_value is None
        else f"{metric.target_value!r} {metric.unit}".strip(),
        in_scope=tuple(scope.in_scope),
        out_of_scope=tuple(scope.out_of_scope),
        hidden=tuple(scope.hidden),
        command=spec.command,
        format=spec.format,
        timeout="" if spec.timeout_s is None else f"{spec.timeout_s:g}s",
        sealed=tuple(spec.sealed),
        guards=(*(guard.command for guard in goal.guards), *goal.constraints, *rules),
        ideas=tuple(goal.ideas),
    )


def written(draft: Draft) -> str:
    """The draft as a goal.md, whole or not."""
    # a heading inside an answer would open a section of its own
    words = "\n".join(line.lstrip("# ") for line in without_comments(draft.objective).split("\n"))
    lines = [
        "## Objective",
        words.strip(),
        "",
        "## Target Metric",
        f"- Metric name: {code(draft.metric)}",
    ]
    named = (("Target value", draft.target), ("Direction", draft.direction))
    lines += [f"- {key}: {value}" for key, value in named if value]
    lines += ["", "## Scope"]
    scopes = (
        ("In scope", draft.in_scope),
        ("Out of scope", draft.out_of_scope),
        ("Hidden", draft.hidden),
    )
    lines += [f"- {key}: {', '.join(map(code, paths))}" for key, paths in scopes if paths]
    lines += ["", "## Benchmark"]
    spec = (("Command", draft.command), ("Format", draft.format))
    lines += [f"- {key}: {code(value)}" for key, value in spec if value]
    lines += [f"- Timeout: {draft.timeout}"] if draft.timeout else []
    lines += [f"- Sealed: {', '.join(map(code, draft.sealed))}"] if draft.sealed else []
    lines += ["", "## Guards", *(f"- {code(guard)}" for guard in draft.guards)]
    lines += ["", "## Experiment Ideas", *(f"- {idea}" for idea in draft.ideas)]
    return "\n".join(lines) + "\n"
