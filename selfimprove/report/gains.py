"""The one gain that a run reports, and how sure the scores beside it are; pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from selfimprove.bench.estimate import score_interval
from selfimprove.contracts.base import Direction
from selfimprove.contracts.benchmark import Measurement
from selfimprove.contracts.merge import MergeReport
from selfimprove.contracts.settings import Settings
from selfimprove.contracts.significance import Estimate
from selfimprove.report import numbers
from selfimprove.store.state import Confirmation, State

QUALIFYING = "qualifying"
"""Marks a score that was chosen or decided by: it flatters."""
Interval = tuple[float, float]


def reported(state: State) -> Estimate | None:
    """The run's gain, first base against the tip that stands; None until it is measured."""
    if state.incumbent is None or state.final_of != state.incumbent.commit:
        return None
    return state.final


def unmeasured(state: State) -> bool:
    """Whether a run that has stopped lacks its reported gain, though something was merged."""
    if state.status in ("idle", "running", "waiting") or not state.wins_total:
        return False
    exact = state.facts is not None and state.facts.deterministic
    return not exact and closing_pairs(state) > 0 and reported(state) is None


def closing_pairs(state: State) -> int:
    """Fresh pairs that are measured for a reported gain, as the run's settings say."""
    return Settings.parse(state.config, "settings of the run").significance.closing_pairs


def base_score(found: Estimate, direction: Direction) -> float | None:
    """The base's mean score in an estimate's pairs; None where only its difference is known."""
    if found.scale == "difference":
        return None
    return found.score / (1 + found.gain if direction == "higher_is_better" else 1 - found.gain)


def against_baseline(state: State) -> str:
    """The gain in words: the reported one, else that of the stored scores."""
    found = reported(state)
    if found is not None:
        return numbers.estimated_in_words(found)
    if state.facts is None or state.settings is None or state.incumbent is None:
        return numbers.NOTHING
    before = state.settings.baseline_score
    return numbers.gain_in_words(before, state.incumbent.score, state.facts.direction)


def measured_interval(measurement: Measurement) -> Interval | None:
    """The interval of a score that is the middle of several runs; None where they are equal."""
    scores = [sample.score for sample in measurement.samples]
    if measurement.interval is not None or len(set(scores)) < 2:
        return measurement.interval
    _, low, high = score_interval(scores)
    return low, high


def confirmations(report: MergeReport) -> list[Confirmation]:
    """Every confirmation of a round, as the report's evidence holds it."""
    found = (report.evidence or {}).get("confirmations", [])
    return [Confirmation.parse(each, "evidence") for each in found]


def merges(reports: Iterable[MergeReport]) -> dict[str, Confirmation]:
    """Commit of a win -> what confirmed it."""
    return {
        each.commit: each for report in reports for each in confirmations(report) if each.commit
    }


def score_bounds(found: Confirmation) -> Interval | None:
    """The interval of a merge's stored score; None where no fresh pairs gave one."""
    told = found.estimate
    return (told.score_low, told.score_high) if told else None


def qualifies_only(found: Confirmation) -> bool:
    """Whether a merge's stored score is that of the very pairs that decided."""
    return found.estimate is None and not found.trial.deterministic


def confirmed_interval(report: MergeReport) -> Interval | None:
    """The interval of a merge's confirmed score, where the comparison gave one."""
    found = (report.evidence or {}).get("interval")
    if isinstance(found, list | tuple) and len(found) == 2:
        low, high = found
        return float(low), float(high)
    return None


def stored_interval(state: State, reports: Sequence[MergeReport]) -> Interval | None:
    """The interval of the score that is stored now: the last merge's, or the baseline's."""
    if state.incumbent is None or state.baseline is None:
        return None
    if not state.wins_total:
        return measured_interval(state.baseline.measurement)
    score = state.incumbent.score
    last = next((each for each in reversed(reports) if each.re_benchmark_score == score), None)
    return confirmed_interval(last) if last else None


def held_out(found: Confirmation) -> str:
    """The held-out benchmark's gain, and how far the seen one's is above it; empty: not asked."""
    if found.holdout_gain is None:
        return ""
    there = numbers.percent(found.holdout_gain)
    seen = seen_gain(found)
    if seen is None:
        return there
    return (
        f"{there}, seen {numbers.percent(seen)}, gap {numbers.percent(seen - found.holdout_gain)}"
    )


def seen_gain(found: Confirmation) -> float | None:
    """The gain on the seen benchmark: of fresh pairs where there are any, else of the deciding."""
    if found.estimate:
        return found.estimate.gain
    return found.judgement.gain if found.judgement else None


def gaps(reports: Iterable[MergeReport]) -> list[float]:
    """Seen less held-out gain of each merge that the held-out benchmark was asked about."""
    told = ((seen_gain(each), each.holdout_gain) for each in merges(reports).values())
    return [seen - there for seen, there in told if seen is not None and there is not None]
