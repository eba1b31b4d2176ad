"""Verdicts on a run that has a score which must not count: what was done, and how it is known."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from selfimprove.contracts.benchmark import Disqualification

LEFT_BEHIND, BEYOND, LEFT_OUT = "processes_left_behind", "beyond_bound", "tests_left_out"
WRITTEN = "sealed_file_written"
SHOWN = 5
"""Paths that a verdict names."""


def left_running(number: int) -> Disqualification:
    """Processes outlived the benchmark: what they did meanwhile nobody saw."""
    evidence = f"{number} of its processes still ran when the benchmark had ended"
    return Disqualification(technique=LEFT_BEHIND, evidence=evidence)


def written_over(paths: Collection[str]) -> Disqualification:
    """Sealed files were not what they are any more when the benchmark ended."""
    shown = ", ".join(sorted(paths)[:SHOWN])
    evidence = f"sealed files were written over while the commit was built or measured: {shown}"
    return Disqualification(technique=WRITTEN, evidence=evidence)


def beyond(score: float, bound: float | None, lower_is_better: bool) -> Disqualification | None:
    """A score better than a person said one can be: held in quarantine until they have looked."""
    if bound is None or (score >= bound if lower_is_better else score <= bound):
        return None
    evidence = f"{score:g} is better than score_bound {bound:g}: in quarantine, to be looked at"
    return Disqualification(technique=BEYOND, evidence=evidence)


def left_out(
    numbers: Mapping[str, float], baseline: Mapping[str, float]
) -> Disqualification | None:
    """Tests that the baseline ran were not run, or were skipped: they can be neither red nor slow.

    Both are the numbers of a test report; without `tests` in the baseline's there is none.
    """
    if "tests" not in baseline:
        return None
    ran, skipped = numbers.get("tests", 0.0), numbers.get("skipped", 0.0)
    if ran >= baseline["tests"] and skipped <= baseline.get("skipped", 0.0):
        return None
    evidence = (
        f"{ran:g} tests were run and {skipped:g} skipped, where the baseline ran "
        f"{baseline['tests']:g} and skipped {baseline.get('skipped', 0.0):g}"
    )
    return Disqualification(technique=LEFT_OUT, evidence=evidence)
