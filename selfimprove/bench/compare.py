"""Whether a candidate's gain is real: pairs in, verdict out; error held for the whole round; pure.

Method. The order within each pair is drawn by a coin of ours, `candidate_first`. A confirmation is
a signed-rank test (Wilcoxon 1945) on the pairs' gains, judged by randomisation: what other falls of
the same coins would have given (Fisher 1935). It rests on our own coin, not on the noise: skewed,
heavy-tailed, drifting and stepping noise are all the same to it. Were the order to alternate
strictly, neighbouring pairs would agree too often under AR(1) noise, and rounds at 5% err in 7%.
What is exact is the error on a candidate that changes nothing (or moves every run the wrong way).

- Over looks: alpha-spending (Lan and DeMets 1983) on the joint distribution of the looks under
  re-randomisation (Plamadeala and Rosenberger 2012, doi:10.1214/11-AOS941). Stopping early for
  lack of hope never adds error: the winning bounds do not count on it.
- Over candidates and stacked runners-up: the fallback procedure (Wiens and Dmitrienko 2005,
  doi:10.1080/10543400500265660). Each confirmation stakes a part of `alpha`; a merge gives its
  stake back, anything else has spent it. The stakes lost on worthless candidates before the first
  wrong merge never sum to more than `alpha`, so neither does the chance of one. Ranking may look
  at anything but the pairs that confirm.

What these pairs say of the size of the gain is flattered by having been chosen and by stopping at
a high point; `estimate.closing` takes fresh ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from selfimprove.bench.effects import as_gain, effects, hurdle, scale_of
from selfimprove.bench.looks import MOST_BITS, Looks
from selfimprove.bench.stats import median
from selfimprove.contracts.benchmark import Pair
from selfimprove.contracts.significance import Judgement, Look, Outcome, Scale, Stake, Trial

MOST_PAIRS = 32
"""What `max_pairs` is at most where it is not set."""
FIRST_SHARE = 0.7
"""What a candidate stakes of the error left; the last to be tried stakes all of it."""


def candidate_first(key: str, about: str, pair: int) -> bool:
    """The order of a pair, by a coin that no candidate can foresee; `key` is the run's secret.

    `about` names the confirmation: run, round and candidate.
    """
    return bool(sha256(f"{key}\0{about}\0order\0{pair}".encode()).digest()[0] & 1)


def least_pairs(stake: float) -> int:
    """The fewest pairs that could win with this stake: all of them won."""
    pairs = 1
    while 0.5**pairs > stake:
        pairs += 1
    return pairs


def next_stake(alpha: float, spent: Sequence[Stake], left: int, max_pairs: int) -> float:
    """What the next confirmation of the round may stake, `left` candidates remaining with it.

    All that is left where this is the last, or where less could not win within `max_pairs`;
    0.0 where nothing that could win is left: no further candidate need be measured.
    """
    purse = alpha - sum(each.stake for each in spent if not each.merged)
    least = 0.5 ** min(max_pairs, MOST_BITS)
    if purse < least or left < 1:
        return 0.0
    part = purse * FIRST_SHARE
    return purse if left == 1 or purse - part < least else part


def judge(pairs: Sequence[Pair], trial: Trial) -> Judgement:
    """Judge the pairs in the order measured; those after the deciding look are ignored."""
    _check(pairs, trial)
    scale = scale_of(pairs, trial.relative)
    gained = _beyond(pairs, trial, scale)
    if trial.deterministic:
        return _once(pairs, trial, gained)
    looks = Looks(trial.stake, trial.max_pairs)
    taken, outcome, used = _take(gained, looks)
    if outcome == "more":
        wanted = next(point for point in looks.points() if point > len(pairs)) - len(pairs)
        return _judgement(pairs, trial, taken, (outcome, _waiting(taken), wanted))
    reason = _reason(outcome, taken[-1], gained[:used], trial)
    return _judgement(pairs[:used], trial, taken, (outcome, reason, 0))


def _beyond(pairs: Sequence[Pair], trial: Trial, scale: Scale) -> list[float]:
    least = hurdle(trial, pairs, scale) if pairs else 0.0
    return [effect - least for effect in effects(pairs, trial.direction, scale)]


def _take(gained: list[float], looks: Looks) -> tuple[list[Look], Outcome, int]:
    import numpy as np

    from selfimprove.bench.signflip import walk

    kept = np.clip(np.array([gained[: looks.max_pairs]]), -1e300, 1e300)
    found = walk(kept.reshape(1, -1), looks)
    used = int(found.pairs[0])
    taken = [
        Look(pairs=point, p=float(p), needed=float(needed), chance=float(chance))
        for point, p, needed, chance in zip(
            looks.points(), found.p[0], found.needed[0], found.chance[0], strict=False
        )
        if point <= used
    ]
    if found.outcome[0]:
        return taken, "win" if found.outcome[0] > 0 else "loss", used
    return taken, "indecisive" if used >= looks.max_pairs else "more", used


def _once(pairs: Sequence[Pair], trial: Trial, gained: list[float]) -> Judgement:
    """A benchmark that repeats exactly needs one pair."""
    if not pairs:
        return _judgement(pairs, trial, [], ("more", "nothing measured yet", 1))
    pair = pairs[0]
    figures = f"{pair.candidate.score:g} against {pair.incumbent.score:g}"
    if gained[0] > 0:
        return _judgement(pairs[:1], trial, [], ("win", f"better ({figures}), and it repeats", 0))
    if pair.candidate.score == pair.incumbent.score:
        told = f"exactly equal ({figures})"
    else:
        better = effects(pairs[:1], trial.direction, scale_of(pairs[:1], trial.relative))[0] > 0
        told = f"better by less than min_effect ({figures})" if better else f"worse ({figures})"
    return _judgement(pairs[:1], trial, [], ("loss", told, 0))


def _judgement(
    pairs: Sequence[Pair], trial: Trial, looks: list[Look], end: tuple[Outcome, str, int]
) -> Judgement:
    outcome, reason, wanted = end
    scale = scale_of(pairs, trial.relative)
    before = median([pair.incumbent.score for pair in pairs]) if pairs else None
    gain = None
    if before is not None:
        gain = as_gain(
            median(effects(pairs, trial.direction, scale)), trial.direction, scale, before
        )
    return Judgement(
        outcome=outcome,
        reason=reason,
        pairs=len(pairs),
        wanted=wanted,
        scale=scale,
        looks=looks,
        stake=trial.stake,
        gain=gain,
        score_before=before,
        score_after=median([pair.candidate.score for pair in pairs]) if pairs else None,
    )


def _waiting(taken: list[Look]) -> str:
    if not taken:
        return "too few pairs for a first look"
    last = taken[-1]
    return (
        f"open after {last.pairs} pairs: p {last.p:.2g}, {last.needed:.2g} needed, "
        f"chance of a win {last.chance:.0%}"
    )


def _reason(outcome: Outcome, last: Look, gained: Sequence[float], trial: Trial) -> str:
    won = sum(gain > 0 for gain in gained)
    beyond = f" by more than {trial.min_effect:g}" if trial.min_effect else ""
    score = f"better{beyond} in {won} of {last.pairs} pairs"
    if outcome == "win":
        return f"{score}: p {last.p:.2g}, {last.needed:.2g} needed at this look"
    if outcome == "indecisive":
        return f"{score}: p {last.p:.2g}, {last.needed:.2g} needed, and max_pairs is reached"
    if not won:
        return f"{score}: none was won"
    return f"{score}: p {last.p:.2g}, and the chance of a win by {trial.max_pairs} is low"


def _check(pairs: Sequence[Pair], trial: Trial) -> None:
    """A caller's mistake would make the comparison unfair: refuse it."""
    for index, pair in enumerate(pairs):
        if pair.incumbent.seed != pair.candidate.seed:
            raise ValueError(f"pair {index} has two seeds")
    if not 0 < trial.stake < 1 or trial.max_pairs < 1:
        raise ValueError(f"nothing can be decided with {trial.stake=}, {trial.max_pairs=}")
