"""What a run came to, as summary.md: the same text that a stop prints."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from selfimprove import resources
from selfimprove.bench.inside import run_in_words
from selfimprove.bench.stats import mean
from selfimprove.contracts.history import HistoryRecord, Loser
from selfimprove.contracts.merge import MergeReport
from selfimprove.contracts.significance import HOLDOUT_QUESTIONS, Estimate
from selfimprove.report import chances, gains, numbers, verdicts
from selfimprove.report.markdown import fence, table
from selfimprove.report.plain import clean, one_line
from selfimprove.report.wording import STATUS_WORDS
from selfimprove.store.state import Confirmation, Facts, State, Win
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
    reports: Sequence[MergeReport] = ()
    """Merge reports: the intervals of merges are in their evidence."""
    patches: Mapping[str, str] = field(default_factory=dict)
    """Commit of a win -> its patch."""
    calibrations: Sequence[Mapping[str, Any]] = ()
    """How sure planners were, and how often they were right."""


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
    chances: str
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
        notes=(*_notes(state), *_held_out(sources)),
        wins=tuple(_shown(win, sources.patches.get(win.commit, "")) for win in wins),
        win_table=_win_table(wins, sources, facts),
        more_wins=_more(state.wins_total - len(wins), "earlier win", "state/merge_reports/"),
        losers=len(losers),
        loser_table=_loser_table(losers[-LOSERS_SHOWN:], facts),
        more_losers=_more(
            len(losers) - LOSERS_SHOWN, "earlier attempt", "state/iteration_history/"
        ),
        ideas=tuple(f"{one_line(clean(idea.text), 120)}: {idea.fate}" for idea in state.ideas),
        chances=chances.told(sources.calibrations),
        cost=_cost(state),
        held_back=_held_back(sources, facts),
        commands=tuple(_commands(sources, facts)),
    )


def _scores(sources: Sources, facts: Facts) -> str:
    """Before and after: the reported gain first, then the scores that are stored."""
    state, settings = sources.state, sources.state.settings
    if state.baseline is None or state.incumbent is None or settings is None:
        return "No score was measured."
    header = [f"{clean(facts.metric)} ({facts.direction.replace('_', ' ')})", "before", "after", ""]
    found = gains.reported(state)
    rows = []
    if found is not None:
        base = gains.base_score(found, facts.direction)
        told = numbers.estimated_in_words(found)
        rows.append(["gain of the run", numbers.score(base), numbers.score(found.score), told])
    before = settings.baseline_score
    if before is None:
        before = state.baseline.score
    gain = numbers.gain_in_words(before, state.incumbent.score, facts.direction)
    name = "score" if found is None else "stored score"
    words = gain if found is None else ""
    rows.append([name, numbers.score(before), numbers.score(state.incumbent.score), words])
    then, now = _intervals(sources)
    if then or now:
        rows.append(["interval", then or numbers.NOTHING, now or numbers.NOTHING, ""])
    note = "" if found is None else f"\n\n{_measured_afresh(found)}"
    return table(header, rows) + note


def _measured_afresh(found: Estimate) -> str:
    pairs = numbers.count(found.pairs, "fresh pair")
    return (
        f"The gain of the run is that of the first base against the tip, in {pairs} measured at "
        f"the stop, with an interval of {found.level:.0%}. Stored scores are of other moments: "
        "they rank and report, the gain is not read off them."
    )


def _intervals(sources: Sources) -> tuple[str, str]:
    """The intervals of the stored scores, before and after."""
    state = sources.state
    assert state.baseline is not None
    then = numbers.interval(gains.measured_interval(state.baseline.measurement))
    return then, numbers.interval(gains.stored_interval(state, sources.reports))


def _target(state: State, facts: Facts) -> str:
    if facts.target_value is None or state.incumbent is None:
        return ""
    there = reached(state.incumbent.score, facts.target_value, facts.direction)
    words = "reached" if there else "not reached"
    return f"Target {numbers.score(facts.target_value)}: {words}."


def _notes(state: State) -> Iterable[str]:
    if state.number:
        yield f"{numbers.count(state.number, 'round')}, {numbers.count(state.wins_total, 'win')}."
    if state.baseline and state.facts and state.baseline.deterministic > state.facts.deterministic:
        yield "The baseline's runs agreed, later ones did not: scores are taken as noisy since."
    if gains.unmeasured(state):
        yield (
            "The gain of the run was not measured: no time was left for the first base beside the "
            "tip, or the run did not end by itself. Scores of different moments stand above; "
            "`selfimprove resume` with more time measures it."
        )
    if state.settings and state.settings.waiting_until:
        yield f"Waiting until {state.settings.waiting_until}; `selfimprove resume` goes on."
    if state.repeated_calls:
        lost = numbers.count(state.repeated_calls, "agent call")
        yield f"{lost} lost in a crash and made again, booked twice."
    if state.facts and state.facts.how_run not in ("", "apart"):
        told = run_in_words(state.facts.how_run, state.facts.inside is not None)
        yield f"The candidate was measured {told}. Read a win's patch before you take it."
    if state.facts and (apart := list(verdicts.disqualified(state))):
        plan, last = apart[-1]
        yield (
            f"{numbers.count(len(apart), 'candidate')} of the last rounds did not count, at last "
            f"{plan}: {clean(verdicts.told(last))}. Their patches: `selfimprove diff {plan}`."
        )
    for each in state.outside:
        yield (
            f"Changed in your repository by round {each.iteration}, and not by this run; left as "
            f"it is: {clean('; '.join(each.changed))}."
        )


def _held_out(sources: Sources) -> Iterable[str]:
    """How the held-out benchmark was asked, and how far its gains are from the seen ones."""
    asked = sources.state.holdout_asked
    if not asked:
        return
    told = (
        f"Held-out benchmark: asked {asked} of at most {numbers.count(HOLDOUT_QUESTIONS, 'time')}"
    )
    found = gains.gaps(sources.reports)
    if not found:
        yield f"{told}; no merge of this run passed it."
        return
    yield (
        f"{told}. What was merged gained {numbers.percent(abs(mean(found)))} "
        f"{'less' if mean(found) >= 0 else 'more'} there than on the seen one "
        f"(mean of {numbers.count(len(found), 'merge')}; `selfimprove show merge_N` tells each)."
    )


def _shown(win: Win, patch: str) -> WinShown:
    text = clean(patch).rstrip("\n")
    lines = text.split("\n")
    if len(lines) > PATCH_LINES:
        left = len(lines) - PATCH_LINES
        text = "\n".join([*lines[:PATCH_LINES], f"… {left} more lines: git show -m {win.commit}"])
    hypothesis = one_line(clean(win.hypothesis), 120)
    return WinShown(win.iteration, hypothesis, text, fence(text))


def _win_table(wins: Sequence[Win], sources: Sources, facts: Facts) -> str:
    known = gains.merges(sources.reports)
    rows = [
        [
            str(win.iteration),
            win.commit[:12],
            numbers.score(win.score_before),
            _after(win, known.get(win.commit)),
            _gain(win, known.get(win.commit), facts),
            win.approach_family,
            win.hypothesis,
        ]
        for win in wins
    ]
    return table(["round", "commit", "before", "after", "gain", "family", "hypothesis"], rows)


def _after(win: Win, found: Confirmation | None) -> str:
    score = numbers.score(win.score_after)
    if found is None:
        return score
    if gains.qualifies_only(found):
        return f"{score} ({gains.QUALIFYING})"
    bounds = numbers.interval(gains.score_bounds(found))
    return f"{score} [{bounds}]" if bounds and not found.trial.deterministic else score


def _gain(win: Win, found: Confirmation | None, facts: Facts) -> str:
    if found and found.estimate:
        return numbers.estimated_in_words(found.estimate)
    return numbers.gain_in_words(win.score_before, win.score_after, facts.direction)


def _losers(sources: Sources) -> Iterable[Loser]:
    for record in sources.history or sources.state.recent:
        yield from record.losers


def _loser_table(losers: Sequence[Loser], facts: Facts) -> str:
    # what a candidate measured when it was ranked chose it, or not: it is no estimate
    score = "score" if facts.deterministic else f"{gains.QUALIFYING} score"
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
    return table(["plan", score, "family", "hypothesis", "why not"], rows)


def why_not(loser: Loser) -> str:
    """Why a plan was not merged, in a few words."""
    if found := loser.disqualification:
        return verdicts.told(found)
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
    return ", ".join(parts) + "." + _cost_of_a_win(state)


def _cost_of_a_win(state: State) -> str:
    """What an accepted win came to, the rounds without one included."""
    totals, wins = state.totals, state.wins_total
    if not (wins and totals.tokens):
        return ""
    money = f"{numbers.money(totals.usd / wins)}, " if totals.usd else ""
    return f" A win came to {money}{totals.tokens / wins:,.0f} tokens."


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
