"""Ranking candidates on few runs each; the ranking is all that comes of it.

The leader and whoever is close behind it get some more runs, whoever is hopeless gets no further.
Hopeless is who is worse than the incumbent as it runs here and now: its stored score lies back in
time, and machines drift. Where the benchmark repeats exactly, the stored score is enough. What is
measured here decides nothing about a merge: the tournament measures afresh.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass

from selfimprove.bench import screening
from selfimprove.bench.failures import Failed
from selfimprove.bench.measure import Measured, bound
from selfimprove.bench.screening import Race
from selfimprove.bench.seeds import seed_for
from selfimprove.contracts.benchmark import INCUMBENT, BenchmarkResult, FailureAnalysis
from selfimprove.contracts.envelope import Draft, control, tool_call, tool_result
from selfimprove.deps import Deps
from selfimprove.review.assertions import asserted, values
from selfimprove.steps import results
from selfimprove.steps.base import round_of, topic
from selfimprove.steps.budget import ROUND_OVER, ensure_minutes, round_over
from selfimprove.steps.clock import ensure_time, expected_seconds
from selfimprove.store.state import State

Flow = Generator[Draft, State, State]


def screen_all(state: State, deps: Deps) -> Flow:
    """Measure every candidate of the round until their ranking stands, then settle each.

    When the round's time is over, what has been measured until then is all there is.
    """
    for name in _unsettled(state):
        state = yield from _refuse_known(state, deps, name)
    beside = True
    while wanted := _wanted(state, beside):
        if round_over(state, deps):
            break
        for name in wanted:
            if name == INCUMBENT:
                state, beside = yield from _run_incumbent(state, deps)
            else:
                state = yield from _run_once(state, deps, name)
    for name in _unsettled(state):
        state = yield _settled(state, result_of(state, name))
    return state


def _wanted(state: State, beside: bool) -> list[str]:
    """Whose runs come next; `beside`: the incumbent can be measured."""
    incumbent = _incumbent(state) if beside else None
    return screening.next_runs(race_of(state), _runs(state), incumbent)


def race_of(state: State) -> Race:
    """How candidates are screened, by the noise of the baseline and of all runs of the round."""
    assert state.facts is not None
    assert state.baseline is not None
    current = round_of(state)
    groups = [state.baseline.measurement.samples, current.incumbent_runs]
    groups += [executor.samples for executor in current.executors.values()]
    scores = [[sample.score for sample in group] for group in groups]
    if state.facts.deterministic:
        scores.append([current.incumbent.score])
    return screening.race_on(state.facts.direction, scores, state.facts.deterministic)


def _unsettled(state: State) -> list[str]:
    return [name for name, each in round_of(state).executors.items() if each.result is None]


def _runs(state: State) -> dict[str, list[float]]:
    executors = round_of(state).executors
    return {
        name: [sample.score for sample in executors[name].samples] for name in _unsettled(state)
    }


def _incumbent(state: State) -> list[float]:
    """What the candidates are held against; a stored score only where it is exact."""
    assert state.facts is not None
    current = round_of(state)
    if state.facts.deterministic:
        return [current.incumbent.score]
    return [sample.score for sample in current.incumbent_runs]


def _refuse_known(state: State, deps: Deps, name: str) -> Flow:
    """A patch that was measured on this very tree is not measured again."""
    current = round_of(state)
    executor = current.executors[name]
    assert executor.candidate is not None
    parent = deps.workshop.tree_oid(current.incumbent.commit)
    known = deps.attempts.measured_before(parent, executor.candidate.tree)
    if known is None:
        return state
    told = results.analysis(
        "logic_error",
        f"the same patch as {known['plan_id']}, which measured {known['score']:g}",
        "the same change to the same tree would be measured again",
        "plan something that has not been tried on this incumbent",
    )
    return (yield _settled(state, results.failure(name, executor, told)))


def _run_once(state: State, deps: Deps, name: str) -> Flow:
    """One run of one candidate; one that fails settles it."""
    executor = round_of(state).executors[name]
    if executor.candidate is None or executor.result is not None or round_over(state, deps):
        return state
    index = len(executor.samples)
    about = _ensured(state, deps, name, index)
    if executor.status != "measuring":
        state = yield control(about, "executor_status", executor=name, status="measuring")
    found, call = yield from _measured(state, deps, Entrant(name, executor.candidate.commit, index))
    if isinstance(found, Failed):
        yield tool_result(call, {"executor": name, "failed": found.analysis.document()})
        return (yield _settled(state, results.from_failed(name, executor, found)))
    return (yield _told(call, found, name, raw=not index))


def _run_incumbent(state: State, deps: Deps) -> Generator[Draft, State, tuple[State, bool]]:
    """One run of the incumbent, and whether it gave a score: without one nobody is hopeless."""
    current = round_of(state)
    if round_over(state, deps):
        return state, True
    entrant = Entrant(INCUMBENT, current.incumbent.commit, len(current.incumbent_runs))
    _ensured(state, deps, entrant.name, entrant.index)
    found, call = yield from _measured(state, deps, entrant)
    if isinstance(found, Failed):
        told = {"executor": INCUMBENT, "failed": found.analysis.document()}
        return (yield tool_result(call, told)), False
    return (yield _told(call, found, INCUMBENT)), True


@dataclass(frozen=True)
class Entrant:
    """Who is about to run."""

    name: str
    commit: str
    index: int
    """How many runs of it there are."""


def _ensured(state: State, deps: Deps, name: str, index: int) -> str:
    """The correlation id of a run for which there is time and budget; raises EndRun for none."""
    about = topic(state, "execution", name, f"measure_{index + 1}")
    ensure_minutes(state, deps, about)
    ensure_time(state, deps, expected_seconds(state))
    return about


def _measured(
    state: State, deps: Deps, entrant: Entrant
) -> Generator[Draft, State, tuple[Measured | Failed, Draft]]:
    """One run, announced; its result is the caller's to tell."""
    name, number = entrant.name, entrant.index + 1
    seed = _seed(state, deps, entrant.index)
    call = tool_call(
        topic(state, "execution", name, f"measure_{number}"),
        "benchmark.run",
        executor=name,
        commit=entrant.commit,
        seed=seed,
        purpose="screening",
    )
    yield call
    log = f"round_{round_of(state).number}/{name}_{number}.log"
    return deps.bench.measure(entrant.commit, log, seed), call


def _told(call: Draft, found: Measured, name: str, raw: bool = False) -> Draft:
    told = {"executor": name, "sample": found.sample.document(), **bound(found)}
    if raw:
        told["raw"] = found.raw
    return tool_result(call, told, {"duration_s": round(found.sample.duration_s, 3)})


def _seed(state: State, deps: Deps, index: int) -> int | None:
    """The seed of a run, the same for all candidates of a round, where the benchmark takes one."""
    assert state.facts is not None
    key, number = state.facts.seed_key, round_of(state).number
    return seed_for(deps.config.settings, key, number, index, "screening")


def result_of(state: State, name: str) -> BenchmarkResult:
    """What a screened candidate came to: the middle of its runs, and whether it is a regression."""
    facts, current = state.facts, round_of(state)
    assert facts is not None
    assert state.fingerprint is not None
    executor, race = current.executors[name], race_of(state)
    if not executor.samples:
        return results.failure(name, executor, _unmeasured())
    scores, incumbent = [sample.score for sample in executor.samples], _incumbent(state)
    score = _middle(scores, race)
    hopeless = name in screening.dropped(race, {name: scores}, incumbent)
    result = results.from_samples(name, executor, score, state.fingerprint)
    if hopeless:
        why = results.regression(score, _middle(incumbent, race), facts.metric)
        result = result.model_copy(update={"status": "regression", "failure_analysis": why})
    return _asserted(state, name, result)


def _asserted(state: State, name: str, result: BenchmarkResult) -> BenchmarkResult:
    """The result with the truth of what its plan asserted."""
    current, facts = round_of(state), state.facts
    assert facts is not None
    texts, candidate = current.plan_of(name).assertions, current.executors[name].candidate
    if not texts or candidate is None:
        return result
    files, incumbent = len(candidate.files), current.incumbent.score
    known = values(result, facts.metric, facts.direction, incumbent, files)
    return result.model_copy(update={"assertions": asserted(texts, known)})


def _middle(scores: list[float], race: Race) -> float:
    """The estimate of some runs, as a score; of one run, the run's to the last digit."""
    if len(scores) == 1:
        return scores[0]
    middle = screening.estimate(scores, race.scale)
    return math.exp(middle) if race.scale == "ratio" else middle


def _unmeasured() -> FailureAnalysis:
    return results.analysis(
        "timeout",
        f"not measured: {ROUND_OVER}",
        "the round's agents and measurements took longer than a round may",
        "the plan itself was not tested",
    )


def _settled(state: State, result: BenchmarkResult) -> Draft:
    """The envelope that settles one executor."""
    about = topic(state, "execution", result.executor_id)
    return control(about, "result", result=result.document())
