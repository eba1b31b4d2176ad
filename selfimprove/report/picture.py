"""What the live view shows of a state, pure: step, agents, best score, last verdicts, next."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from selfimprove.contracts.iteration import STEPS
from selfimprove.report import gains, numbers
from selfimprove.report.plain import clean, one_line
from selfimprove.report.standing import standing
from selfimprove.report.wording import STATUS_WORDS, STEP_WORDS, Line
from selfimprove.store.state import Facts, Round, State
from selfimprove.store.state_actors import ExecutorState, PlannerState

LINES = 6
"""Verdicts shown."""
FRAME = 12
"""Lines of the view that are not agents or verdicts."""
ENDED = frozenset({"target_reached", "plateau", "patience", "max_iterations"})
"""Statuses after which a run goes on only where a limit was raised."""
TONES = {"plain": "", "good": "green", "bad": "yellow", "faint": "dim"}
STATUS_STYLES = {
    "approved": "green",
    "success": "green",
    "merged": "bold green",
    "running": "cyan",
    "measuring": "bold cyan",
    "confirming": "bold cyan",
    "thinking": "cyan",
    "rejected": "yellow",
    "regression": "yellow",
    "lost": "yellow",
    "failed": "red",
    "error": "red",
    "timeout": "red",
}


@dataclass(frozen=True)
class Scene:
    """What is to be drawn."""

    state: State
    recent: tuple[Line, ...] = ()
    rounds: int | None = None
    """How many rounds there may be, where that is known."""


@dataclass(frozen=True)
class Row:
    """One agent's line."""

    who: str
    status: str
    elapsed: str
    what: str


def picture(scene: Scene, now: datetime, height: int = 40) -> RenderableType:
    """The whole view, at most `height` lines tall."""
    state = scene.state
    if state.facts is None:
        return Text("waiting for a run to begin …", style="dim")
    parts: list[RenderableType] = [_head(state, state.facts, scene.rounds, now)]
    if state.round:
        parts.append(_steps(state.round))
    room = max(3, height - FRAME)
    rows = list(_rows(state, now))
    latest = scene.recent[-max(1, min(LINES, room - len(rows))) :]
    if rows:
        parts.append(_agents(rows, max(2, room - len(latest))))
    if latest:
        parts += [Text(), *(_line(line) for line in latest)]
    parts += [Text(), _next(state)]
    return Group(*parts)


def _line(line: Line) -> Text:
    return Text(f"  {line.text}", style=TONES[line.tone], no_wrap=True, overflow="ellipsis")


def _head(state: State, facts: Facts, rounds: int | None, now: datetime) -> Panel:
    goal = one_line(clean(facts.objective.strip().partition("\n")[0]), 70)
    where = [STATUS_WORDS.get(state.status, state.status)]
    if state.round:
        of = f" of {rounds}" if rounds else ""
        where.append(f"round {state.number}{of}")
        if state.round.status == "in_progress":
            where.append(numbers.duration(numbers.since(state.round.started_at, now)))
    return Panel(
        Group(_scores(state, facts), _account(state)),
        title=Text(goal, style="bold", no_wrap=True, overflow="ellipsis"),
        title_align="left",
        subtitle=Text(" · ".join(where)),
        subtitle_align="right",
        border_style="blue" if state.status == "running" else "dim",
    )


def _scores(state: State, facts: Facts) -> Text:
    better = facts.direction.replace("_", " ")
    text = Text(f"{clean(facts.metric)} ({better}):  ")
    settings, best = state.settings, state.incumbent
    if settings is None or best is None or settings.baseline_score is None:
        return text.append(
            f"measuring the baseline, {numbers.count(len(state.samples), 'run')} so far", "cyan"
        )
    text.append(f"best {numbers.score(best.score)}", "bold")
    if best.score == settings.baseline_score:
        text.append(", the baseline")
    else:
        gain = gains.against_baseline(state)
        text.append(f", {gain} than the baseline {numbers.score(settings.baseline_score)}")
    if facts.target_value is not None:
        text.append(f"  ·  target {numbers.score(facts.target_value)}", "magenta")
    return text


def _account(state: State) -> Text:
    parts = [numbers.count(state.wins_total, "win")]
    if state.held_back:
        parts.append("held back until the improvement branch is free")
    if state.totals.calls:
        parts.append(numbers.count(state.totals.calls, "agent call"))
    if state.totals.tokens:
        parts.append(f"{state.totals.tokens:,} tokens")
    if state.totals.usd:
        parts.append(numbers.money(state.totals.usd))
    return Text(" · ".join(parts), style="dim")


def _steps(current: Round) -> Text:
    text = Text(" ")
    for step in STEPS:
        name = step.replace("_", " ")
        if step in current.step_done:
            text.append(f" ✓ {name} ", "green")
        elif step == current.step and current.status == "in_progress":
            text.append(f" ▶ {name} ", "bold cyan")
        else:
            text.append(f" · {name} ", "dim")
    return text


def _agents(rows: list[Row], room: int) -> Table:
    table = Table(box=None, expand=True, pad_edge=False, padding=(0, 2, 0, 1))
    table.add_column("agent", no_wrap=True, style="bold", header_style="dim")
    table.add_column("status", no_wrap=True, header_style="dim")
    table.add_column("elapsed", no_wrap=True, justify="right", header_style="dim", min_width=8)
    table.add_column("", no_wrap=True, overflow="ellipsis", ratio=1)
    for row in rows if len(rows) <= room else _busiest(rows, room - 1):
        status = Text(row.status, style=STATUS_STYLES.get(row.status, ""))
        table.add_row(row.who, status, row.elapsed, Text(clean(row.what)))
    if len(rows) > room:
        table.add_row("…", Text(f"{len(rows) - room + 1} more", style="dim"), "", "")
    return table


def _busiest(rows: list[Row], room: int) -> list[Row]:
    """Those at work first, then the latest in the round; shown in their own order."""
    idle = {
        "approved",
        "rejected",
        "failed",
        "error",
        "timeout",
        "success",
        "regression",
        "lost",
        "waits",
    }
    ranked = sorted(range(len(rows)), key=lambda k: (rows[k].status in idle, -k))
    return [rows[k] for k in sorted(ranked[: max(room, 0)])]


def _rows(state: State, now: datetime) -> Iterator[Row]:
    current = state.round
    if current is None:
        return
    if current.step in ("research", "planning"):
        found = numbers.count(len(current.brief.ideas), "idea") if current.brief else ""
        busy = _elapsed(state, "researcher", now)
        status = "done" if "research" in current.step_done else "thinking"
        yield Row("researcher", status, busy, found)
    for name, planner in current.planners.items():
        status, what = _planner(state, name, planner)
        yield Row(name, status, _elapsed(state, name, now), what)
    for name, executor in current.executors.items():
        status, what = _executor(state, current, name, executor)
        yield Row(name, status, _elapsed(state, name, now), what)


def _planner(state: State, name: str, planner: PlannerState) -> tuple[str, str]:
    if planner.status == "failed":
        return "failed", planner.error
    if planner.plan is None or planner.status != "completed":
        asked = any(name in deed.split("/") for deed in state.open_deeds)
        return ("thinking" if asked else "waits"), ", ".join(planner.families)
    what = f"{planner.plan.approach_family}: {planner.plan.hypothesis}"
    if not planner.reviewed:
        return "in review", what
    if planner.plan.critic_approved:
        return "approved", what
    review = planner.plan.critic_review
    reason = review.rejection_reason if review else None
    return "rejected", reason or what


def _executor(state: State, current: Round, name: str, executor: ExecutorState) -> tuple[str, str]:
    planner = executor.plan_id.removeprefix(f"round_{current.number}_")
    status: str = executor.status
    if tried := current.confirmation_of(name):
        if tried.holds is False:
            return "lost", f"{planner}: {tried.reason}"
        if how := standing(tried, state):
            return "confirming", f"{planner}: {how}"
        status = "merged"
    elif status == "pending":
        status = "waits"
    result = executor.result
    if result is None:
        return status, planner
    if result.benchmark_score is None:
        why = result.failure_analysis.what if result.failure_analysis else "nothing measured"
        return status, f"{planner}: {why}"
    direction = state.facts.direction if state.facts else "higher_is_better"
    gain = numbers.gain_in_words(current.incumbent.score, result.benchmark_score, direction)
    return status, f"{planner}: {numbers.score(result.benchmark_score)} ({gain})"


def _elapsed(state: State, name: str, now: datetime) -> str:
    """How long an agent has been at it: its open call, or the sum of its finished ones."""
    for about, deed in state.open_deeds.items():
        if name in about.split("/"):
            return numbers.duration(numbers.since(deed.timestamp, now))
        if name == "researcher" and about.endswith("/research"):
            return numbers.duration(numbers.since(deed.timestamp, now))
    spent = sum(
        span.duration_s
        for span in state.spans
        if span.agent == name or name in span.name.split("/")
    )
    return numbers.duration(spent) if spent else ""


def _next(state: State) -> Text:
    text = Text("  next: ", style="bold")
    settings, current = state.settings, state.round
    if state.status == "waiting" and settings:
        until = f" until {settings.waiting_until}" if settings.waiting_until else ""
        return text.append(f"wait{until}: {settings.reason}", "yellow")
    if state.status in ENDED:
        return text.append("the run has ended; its summary.md says how to take the result", "dim")
    if state.status != "running":
        return text.append("nothing runs; `selfimprove resume` goes on", "dim")
    if current is None or current.status == "completed":
        return text.append("the next round begins" if state.incumbent else "the baseline's score")
    index = STEPS.index(current.step)
    if index + 1 == len(STEPS):
        return text.append("the next round, or the end")
    following = STEPS[index + 1]
    return text.append(f"{following.replace('_', ' ')}: {STEP_WORDS[following]}", "dim")
