"""`selfimprove status`: where the run stands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from selfimprove.cli.common import Where, echo_json, json_option, repo_argument, where_options

if TYPE_CHECKING:
    from pathlib import Path

    from selfimprove.store.layout import Layout
    from selfimprove.store.state import Facts, State

LAST_VERDICTS = 5


@click.command("status")
@repo_argument
@where_options
@json_option
def command(where: Where, as_json: bool) -> None:
    """Where the run stands: status, scores, what is held back, your ideas.

    \b
    Example:
      selfimprove status path/to/repository --json
    """
    from selfimprove.store.lock import alive
    from selfimprove.store.record import load_state

    layout = where.layout()
    state = load_state(layout)
    living = alive(layout.lock)
    if as_json:
        from selfimprove.report.sources import read_calibrations

        found = read_calibrations(layout, state)
        echo_json(document(state, living) | ({"calibration": found} if found else {}))
        return
    for name, words in _lines(state, layout, where, living):
        click.echo(f"{name:<10}  {words}")


def document(state: State, alive: bool) -> dict[str, Any]:
    """What `status --json` answers."""
    from selfimprove.store.projections import iteration_state

    return {
        "agent_settings": state.settings.document() if state.settings else None,
        "iteration_state": iteration_state(state.round).document() if state.round else None,
        "alive": alive,
        "held_back": state.held_back,
    }


def _lines(state: State, layout: Layout, where: Where, alive: bool) -> Iterator[tuple[str, str]]:
    from selfimprove.places import quarantine_of
    from selfimprove.report import gains, numbers, verdicts
    from selfimprove.report.plain import clean, one_line
    from selfimprove.report.standing import under_way
    from selfimprove.report.wording import STATUS_WORDS

    facts, settings = state.facts, state.settings
    if facts is None or settings is None:
        yield "status", "being set up" if alive else "set-up was begun and not finished"
        return
    yield "goal", one_line(clean(facts.objective.partition("\n")[0]), 100)
    words = STATUS_WORDS[state.status] + (f" ({settings.reason})" if settings.reason else "")
    if state.status == "running" and not alive:
        words = "died while running; `selfimprove run` goes on"
    yield "status", words
    if settings.waiting_until:
        yield "until", settings.waiting_until
    if state.round:
        step = state.round.step.replace("_", " ")
        yield "round", f"{state.number}, {step}, {state.round.status.replace('_', ' ')}"
    if how := under_way(state):
        yield "decision", how
    yield "metric", f"{clean(facts.metric)}, {facts.direction.replace('_', ' ')}"
    if state.incumbent and settings.baseline_score is not None:
        yield "baseline", numbers.score(settings.baseline_score)
        best = numbers.score(state.incumbent.score)
        if (told := gains.reported(state)) is None:
            yield "best", f"{best} ({gains.against_baseline(state)})"
        else:
            yield "best", f"{best} (stored)"
            pairs = numbers.count(told.pairs, "fresh pair")
            yield "gain", f"{gains.against_baseline(state)} in {pairs}, first base against tip"
    if facts.target_value is not None:
        yield "target", numbers.score(facts.target_value)
    yield from _branch(state, facts, quarantine_of(where.private(layout)))
    for plan, found in list(verdicts.disqualified(state))[-LAST_VERDICTS:]:
        yield "set aside", f"{plan}: {one_line(clean(verdicts.told(found)), 160)}"
    for each in state.outside:
        yield "not ours", f"round {each.iteration}, in your repository: {'; '.join(each.changed)}"
    yield from _ideas(state, layout)


def _branch(state: State, facts: Facts, quarantine: Path) -> Iterator[tuple[str, str]]:
    branch = facts.improve_ref.removeprefix("refs/heads/")
    yield "wins", f"{state.wins_total} on {branch}"
    if state.held_back:
        words = f"{branch} is checked out; wins wait in {quarantine} for `selfimprove resume`"
        yield "held back", words


def _ideas(state: State, layout: Layout) -> Iterator[tuple[str, str]]:
    from selfimprove.report.plain import clean, one_line
    from selfimprove.store.ideabox import IdeaBox

    for idea in state.ideas:
        yield "idea", f"{one_line(clean(idea.text), 80)}: {idea.fate}"
    for text in IdeaBox(layout.ideas).queued():
        yield "idea", f"{one_line(clean(text), 80)}: queued"
