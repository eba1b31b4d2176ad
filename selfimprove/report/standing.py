"""How the decision under way stands: pairs so far, what they say, what is still needed; pure."""

from __future__ import annotations

from functools import lru_cache

from pydantic import TypeAdapter

from selfimprove.contracts.benchmark import Pair
from selfimprove.contracts.significance import Judgement, Trial
from selfimprove.report import numbers
from selfimprove.report.gains import QUALIFYING, closing_pairs
from selfimprove.store.state import Confirmation, State

_PAIRS = TypeAdapter(list[Pair])


def under_way(state: State) -> str:
    """The decision that is being measured for, in a line; empty where there is none."""
    current = state.round
    if current is None or current.status == "completed":
        return ""
    tried = current.tournament.confirmations
    if tried and (found := standing(tried[-1], state)):
        return f"{tried[-1].executor_id}: {found}"
    if state.final_pairs:
        of = closing_pairs(state)
        return (
            f"the run's gain, first base against tip: fresh pair {len(state.final_pairs)} of {of}"
        )
    return ""


def standing(found: Confirmation, state: State) -> str:
    """One confirmation: still open, or held and measured afresh; empty where it is settled."""
    if found.holds is None:
        return _open(found)
    if found.holds and not found.commit:
        of = 0 if found.trial.deterministic else closing_pairs(state)
        return f"it holds; closing pair {len(found.closing)} of {of}"
    return ""


def _open(found: Confirmation) -> str:
    if not found.merge_commit:
        return "it is merged"
    trial = found.trial
    most = 1 if trial.deterministic else trial.max_pairs
    pairs = f"{len(found.pairs)} of at most {numbers.count(most, 'pair')}"
    judged = _judged(trial.model_dump_json(), _PAIRS.dump_json(found.pairs))
    parts = [pairs]
    if judged.gain is not None:
        word = "better" if judged.gain >= 0 else "worse"
        parts.append(f"{numbers.percent(abs(judged.gain))} {word} so far ({QUALIFYING})")
    if judged.looks:
        look = judged.looks[-1]
        parts.append(f"p {look.p:.2g} at {look.pairs} pairs, {look.needed:.2g} needed")
    if judged.outcome != "more":
        parts.append(judged.outcome)
    elif not trial.deterministic:
        parts.append(f"next look at {len(found.pairs) + judged.wanted}")
    return ", ".join(parts)


@lru_cache(maxsize=8)
def _judged(trial: str, pairs: bytes) -> Judgement:
    """The verdict so far; kept, because a view is drawn more often than a pair is measured."""
    from selfimprove.bench.compare import judge

    return judge(_PAIRS.validate_json(pairs), Trial.model_validate_json(trial))
