"""A merge report as a person reads it: pairs, looks, estimate, interval, and why the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from selfimprove.contracts.benchmark import Pair
from selfimprove.contracts.merge import MergeReport
from selfimprove.report import gains, numbers
from selfimprove.report.plain import clean
from selfimprove.store.state import Confirmation


def explained(report: MergeReport) -> Iterator[str]:
    """The lines of `show merge_N`."""
    tried = gains.confirmations(report)
    reason = f": {report.reason}" if report.reason else ""
    yield f"round {report.iteration}: {report.status}{reason}"
    if report.winner:
        yield f"  {clean(report.winner.hypothesis)}"
        wanted = report.winner.executor_id
        first = next((each for each in tried if each.executor_id == wanted), None)
        mark = (
            f", {gains.QUALIFYING}: of the pairs that decided"
            if first and gains.qualifies_only(first)
            else ""
        )
        yield (
            f"  {numbers.score(report.winner.score_before)} -> "
            f"{numbers.score(report.winner.score_after)} ({report.winner.executor_id}{mark})"
        )
    for stacked in report.stacked:
        yield f"  stacked on it: {stacked.executor_id}: {clean(stacked.hypothesis)}"
    if report.held_back:
        yield "  held back: its branch is checked out"
    for each in tried:
        yield ""
        yield from _confirmation(each)
    if report.archived:
        yield ""
        yield f"archived: {', '.join(report.archived)}"


def _confirmation(found: Confirmation) -> Iterator[str]:
    verdict = "holds" if found.holds else "does not hold"
    yield f"{found.executor_id} {verdict}: {clean(found.reason)}"
    measured = f"{found.merge_commit[:12]} beside {found.base[:12]}"
    yield f"  measured: {measured}; stake {found.trial.stake:.3g} of the round's error"
    if found.regressions:
        yield f"  conditions not kept: {', '.join(found.regressions)}"
    if found.holdout is not None:
        there = gains.held_out(found)
        gap = f" (gain {there})" if there else ""
        yield f"  held-out benchmark: {'yes' if found.holdout else 'no'}{gap}"
    yield from _pairs(f"deciding pairs, {gains.QUALIFYING} (incumbent, candidate)", found.pairs)
    if found.judgement:
        for look in found.judgement.looks:
            yield f"  look at {look.pairs} pairs: p {look.p:.3g}, {look.needed:.3g} needed"
    yield from _pairs("closing pairs, measured afresh", found.closing)
    if found.estimate:
        told = found.estimate
        yield (
            f"  gain {numbers.estimated(told)}, an interval of {told.level:.0%}; "
            f"score {numbers.score(told.score)} "
            f"[{numbers.score(told.score_low)}, {numbers.score(told.score_high)}]"
        )


def _pairs(title: str, pairs: Sequence[Pair]) -> Iterator[str]:
    if not pairs:
        return
    yield f"  {title}:"
    for index, pair in enumerate(pairs, 1):
        first = "candidate first" if pair.candidate_first else "incumbent first"
        before, after = numbers.score(pair.incumbent.score), numbers.score(pair.candidate.score)
        seed = "" if pair.incumbent.seed is None else f", seed {pair.incumbent.seed}"
        yield f"    {index:2}  {before:>12}  {after:>12}  {first}{seed}"
