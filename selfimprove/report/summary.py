"""What a run came to, as summary.md: the same text that a stop prints."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from selfimprove import resources
from selfimprove.contracts.history import HistoryRecord, Loser
from selfimprove.contracts.merge import MergeReport
from selfimprove.report import numbers
from selfimprove.report.data import confirmed_interval
from selfimprove.report.markdown import fence, table
from selfimprove.report.plain import clean, one_line
from selfimprove.report.wording import STATUS_WORDS
from selfimprove.store.state import Facts, State, Win
from selfimprove.words import reached

WINS_SHOWN, LOSERS_SHOWN, PATCH_LINES = 20, 30, 60
ARCHIVE_REF = "refs/tags/archive/"


@dataclass(frozen=True)
class Sources:
    """What a summary is made from."""

    state: State
    target: Path
    """Top of the target repository."""
    quarantine: Path | None = None
    """The private clone, where held-back wins wait."""
    history: Sequence[HistoryRecord] = ()
    """Every round's record; the recent ones of the state where none are given."""
    last_merge: MergeReport | None = None
    """The last report that merged: its interval is that of the score now."""
    patches: Mapping[str, str] = field(default_factory=dict)
    """Commit of a win -> its patch."""


@dataclass(frozen=True)
class WinShown:
    """A win with its patch."""

    round: int
    hypothesis: str
    patch: str
    fence: str


@dataclass(frozen=True)
class Commands:
    """Commands for one purpose."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Summary:
    """Everything that templates/summary.md.j2 shows."""

    objective: str
    outcome: str
    reason: str
    scores: str
    target: str
    notes: tuple[str, ...]
    wins: tuple[WinShown, ...]
    win_table: str
    more_wins: str
    losers: int
    loser_table: str
    more_losers: str
    ideas: tuple[str, ...]
    cost: str
    held_back: str
    commands: tuple[Commands, ...]


def render(sources: Sources) -> str:
    """The summary of a run as Markdown."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    template = environment.from_string(resources.text("templates/summary.md.j2"))
    return template.render(s=summarize(sources))


def summarize(sources: Sources) -> Summary:
    """Gather what the summary shows; pure."""
    state = sources.state
    facts, settings = state.facts, state.settings
    if facts is None or settings is None:
        raise ValueError("there is no run to sum up")
    wins = state.wins[-WINS_SHOWN:]
    losers = list(_losers(sources))
    return Summary(
        objective=one_line(clean(facts.objective.strip().partition("\n")[0]), 120),
        outcome=STATUS_WORDS.get(state.status, state.status).capitalize(),
        reason=one_line(clean(settings.reason), 300).rstrip("."),
        scores=_scores(sources, facts),
        target=_target(state, facts),
        notes=tuple(_notes(state)),
        wins=tuple(_shown(win, sources.patches.get(win.commit, "")) for win in wins),
        win_table=_win_table(wins, facts),
        more_wins=_more(state.wins_total - len(wins), "earlier win", "state/merge_reports/"),
        losers=len(losers),
        loser_table=_loser_table(losers[-LOSERS_SHOWN:]),
        more_losers=_more(
            len(losers) - LOSERS_SHOWN, "earlier attempt", "state/iteration_history/"
        ),
        ideas=tuple(f"{one_line(clean(idea.text), 120)}: {idea.fate}" for idea in state.ideas),
        cost=_cost(state),
        held_back=_held_back(sources, facts),
        commands=tuple(_commands(sources, facts)),
    )


def _scores(sources: Sources, facts: Facts) -> str:
    state, settings = sources.state, sources.state.settings
    if state.baseline is None or state.incumbent is None or settings is None:
        return "No score was measured."
    first, after = state.baseline.score, state.incumbent.score
    before = settings.baseline_score if settings.baseline_score is not None else first
    report = sources.last_merge
    then = numbers.interval(state.baseline.measurement.interval)
    now = numbers.interval(confirmed_interval(report) if report else None)
    if not state.wins_total:
        now = then
    gain = numbers.gain_in_words(before, after, facts.direction)
    header = [f"{clean(facts.metric)} ({facts.direction.replace('_', ' ')})", "before", "after", ""]
    rows = [["score", numbers.score(before), numbers.score(after), gain]]
    if state.final is not None and state.final_of == state.incumbent.commit:
        pairs = numbers.count(state.final.pairs, "fresh pair")
        words = f"reported gain ({pairs}, first base against tip)"
        rows.append([words, "", "", numbers.estimated(state.final)])
    if then or now:
        rows.append(["interval", then or numbers.NOTHING, now or numbers.NOTHING, ""])
    return table(header, rows)


def _target(state: State, facts: Facts) -> str:
    if facts.target_value is None or state.incumbent is None:
        return ""
    there = reached(state.incumbent.score, facts.target_value, facts.direction)
    words = "reached" if there else "not reached"
    return f"Target {numbers.score(facts.target_value)}: {words}."


def _notes(state: State) -> Iterable[str]:
    if state.number:
        yield f"{numbers.count(state.number, 'round')}, {numbers.count(state.wins_total, 'win')}."
    if state.settings and state.settings.waiting_until:
        yield f"Waiting until {state.settings.waiting_until}; `selfimprove resume` goes on."
    if state.repeated_calls:
        lost = numbers.count(state.repeated_calls, "agent call")
        yield f"{lost} lost in a crash and made again, booked twice."


def _shown(win: Win, patch: str) -> WinShown:
    text = clean(patch).rstrip("\n")
    lines = text.split("\n")
    if len(lines) > PATCH_LINES:
        left = len(lines) - PATCH_LINES
        text = "\n".join([*lines[:PATCH_LINES], f"… {left} more lines: git show -m {win.commit}"])
    hypothesis = one_line(clean(win.hypothesis), 120)
    return WinShown(win.iteration, hypothesis, text, fence(text))


def _win_table(wins: Sequence[Win], facts: Facts) -> str:
    rows = [
        [
            str(win.iteration),
            win.commit[:12],
            numbers.score(win.score_before),
            numbers.score(win.score_after),
            numbers.gain_in_words(win.score_before, win.score_after, facts.direction),
            win.approach_family,
            win.hypothesis,
        ]
        for win in wins
    ]
    return table(["round", "commit", "before", "after", "gain", "family", "hypothesis"], rows)


def _losers(sources: Sources) -> Iterable[Loser]:
    for record in sources.history or sources.state.recent:
        yield from record.losers


def _loser_table(losers: Sequence[Loser]) -> str:
    rows = [
        [
            loser.plan_id,
            numbers.score(loser.score),
            loser.approach_family,
            one_line(loser.hypothesis, 60),
            why_not(loser),
        ]
        for loser in losers
    ]
    return table(["plan", "score", "family", "hypothesis", "why not"], rows)


def why_not(loser: Loser) -> str:
    """Why a plan was not merged, in a few words."""
    if loser.disqualification:
        return f"disqualified: {loser.disqualification.technique}"
    if loser.failure_analysis:
        return f"{loser.failure_analysis.category}: {loser.failure_analysis.what}"
    return "not better" if loser.score is not None else "not carried out"


def _more(number: int, noun: str, where: str) -> str:
    return f"And {numbers.count(number, noun)}: see `{where}`." if number > 0 else ""


def _cost(state: State) -> str:
    totals = state.totals
    if not totals.calls:
        return "No agent was called."
    parts = [numbers.count(totals.calls, "agent call")]
    if totals.tokens:
        parts.append(
            f"{totals.tokens:,} tokens ({totals.input_tokens:,} in, {totals.output_tokens:,} out)"
        )
    parts.append(numbers.money(totals.usd))
    return ", ".join(parts) + "."


def _branch(facts: Facts) -> str:
    return facts.improve_ref.removeprefix("refs/heads/")


def _held_back(sources: Sources, facts: Facts) -> str:
    if not sources.state.held_back:
        return ""
    where = f" in `{sources.quarantine}`" if sources.quarantine else ""
    return (
        f"`{_branch(facts)}` is checked out, and a run never moves a branch under its user: the "
        f"wins wait{where}. Switch to another branch, then `selfimprove resume`."
    )


def _commands(sources: Sources, facts: Facts) -> Iterable[Commands]:
    state = sources.state
    if not state.wins_total:
        return
    base = facts.base_commit[:12]
    if state.held_back and state.incumbent and sources.quarantine:
        git, tip = f"git --git-dir {shlex.quote(str(sources.quarantine))}", state.incumbent.commit
        yield Commands(
            "Review what waits",
            (f"{git} log --first-parent {base}..{tip[:12]}", f"{git} diff {base} {tip[:12]}"),
        )
        return
    git = f"git -C {shlex.quote(str(sources.target))}"
    branch = shlex.quote(_branch(facts))
    own = facts.target_branch.removeprefix("refs/heads/")
    yield Commands(
        "Review it",
        (f"{git} log --first-parent {base}..{branch}", f"{git} diff {base} {branch}"),
    )
    merge = f"{git} merge {branch}"
    take = (f"{git} switch {shlex.quote(own)}", merge) if own else (merge,)
    yield Commands("Take all of it", take)
    one = state.wins[-1].commit[:12]
    yield Commands(
        "Take one win (here the last) onto the branch you are on",
        (f"{git} cherry-pick -m 1 {one}",),
    )
    # the default topic's lie beside the other topics' folders: those are another run's
    topic = "round_*" if facts.topic == "default" else f"{facts.topic}/"
    listed = f"{git} for-each-ref --format='%(refname:strip=2)' '{ARCHIVE_REF}{topic}'"
    yield Commands(
        "Drop it, the archived attempts too",
        (f"{git} branch -D {branch}", f"{listed} | xargs -r {git} tag -d"),
    )
