"""Goals as text: the checked copy in force, and a goal.md written from a goal."""

from __future__ import annotations

from selfimprove.contracts.goal import Goal, GuardCommand, SubScoreRule
from selfimprove.markdown import normal_text
from selfimprove.words import in_words


def checked_copy(text: str) -> str:
    """What `config/goal.md` holds: the user's own text, newlines normalised; it parses equal."""
    return normal_text(text)


def render_goal(goal: Goal) -> str:
    """A goal.md that parses to this goal (its digest aside)."""
    blocks = [f"## Objective\n{goal.objective}", _metric(goal), _scope(goal)]
    optional = (_benchmark(goal), _guards(goal), _phases(goal), _milestones(goal), _ideas(goal))
    blocks.extend(block for block in optional if block)
    return "# Goal\n\n" + "\n\n".join(blocks) + "\n"


def code(text: str) -> str:
    """A code span that holds the text, backquotes in it or not."""
    fence = "`"
    while fence in text:
        fence += "`"
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _metric(goal: Goal) -> str:
    metric = goal.metric
    lines = ["## Target Metric", f"- Metric name: {code(metric.name)}"]
    if metric.target_value is not None:
        lines.append(f"- Target value: {metric.target_value!r}")
    lines.append(f"- Direction: {in_words(metric.direction)}")
    if metric.unit:
        lines.append(f"- Unit: {metric.unit}")
    return "\n".join(lines)


def _scope(goal: Goal) -> str:
    keys = ("In scope", goal.scope.in_scope), ("Out of scope", goal.scope.out_of_scope)
    lines = [
        f"- {key}: {', '.join(map(code, paths))}"
        for key, paths in (*keys, ("Hidden", goal.scope.hidden))
        if paths
    ]
    return "\n".join(["## Scope", *lines])


def _benchmark(goal: Goal) -> str:
    spec = goal.benchmark
    lines = []
    if spec.command:
        multi = "\n" in spec.command
        shown = (
            f"\n  ```sh\n{_indented(spec.command)}\n  ```" if multi else f" {code(spec.command)}"
        )
        lines.append(f"- Command:{shown}")
    if spec.format:
        lines.append(f"- Format: {code(spec.format)}")
    if spec.timeout_s is not None:
        lines.append(f"- Timeout: {spec.timeout_s:g}s")
    if spec.sealed:
        lines.append(f"- Sealed: {', '.join(map(code, spec.sealed))}")
    return "\n".join(["## Benchmark", *lines]) if lines else ""


def _indented(command: str) -> str:
    """The lines of a script; the `set -e` that reading put there is left off."""
    return "\n".join(f"  {line}" for line in command.removeprefix("set -e\n").split("\n"))


def _guards(goal: Goal) -> str:
    lines = [_guard(guard) for guard in goal.guards]
    lines += [f"- {constraint}" for constraint in goal.constraints]
    lines += [f"- {rule_line(name, rule)}" for name, rule in goal.sub_scores.items()]
    return "\n".join(["## Guards", *lines]) if lines else ""


def _guard(guard: GuardCommand) -> str:
    if "\n" in guard.command:
        return f"- {guard.name}:\n  ```sh\n{_indented(guard.command)}\n  ```"
    limit = f" (timeout {guard.timeout:g}s)" if guard.timeout is not None else ""
    return f"- {guard.name}: {code(guard.command)}{limit}"


def rule_line(name: str, rule: SubScoreRule) -> str:
    """`memory_mb: lower_is_better, tolerance 0.05`."""
    tolerance = f", tolerance {rule.tolerance!r}" if rule.tolerance is not None else ""
    return f"{name}: {rule.direction}{tolerance}"


def _phases(goal: Goal) -> str:
    if not goal.phases:
        return ""
    rows = [
        f"| {phase.name} | {phase.focus} | {', '.join(phase.targets)} | {phase.status} |"
        for phase in goal.phases
    ]
    head = ["## Phases", "| Phase | Focus | Sub-Score Targets | Status |", "|---|---|---|---|"]
    return "\n".join([*head, *rows])


def _milestones(goal: Goal) -> str:
    lines = [f"- {each.name}: {each.target}" for each in goal.milestones]
    return "\n".join(["## Milestones", *lines]) if lines else ""


def _ideas(goal: Goal) -> str:
    return (
        "\n".join(["## Experiment Ideas", *(f"- {idea}" for idea in goal.ideas)])
        if goal.ideas
        else ""
    )
