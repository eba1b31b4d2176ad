"""Ranking candidates on few runs each; the ranking is all that comes of it.

The leader and whoever is close behind it get some more runs, whoever is hopeless gets no further.
What is measured here decides nothing about a merge: the tournament measures afresh.
"""

from __future__ import annotations

import math
from collections.abc import Generator

from selfimprove.bench import screening
from selfimprove.bench.estimate import noise
from selfimprove.bench.failures import Failed
from selfimprove.bench.screening import Race
from selfimprove.bench.seeds import pair_seed, takes_seed
from selfimprove.contracts.benchmark import BenchmarkResult, FailureAnalysis
from selfimprove.contracts.envelope import Draft, control, tool_call, tool_result
from selfimprove.deps import Deps
from selfimprove.steps import results
from selfimprove.steps.base import EndRun, round_of, topic
from selfimprove.steps.budget import ROUND_OVER, ensure_minutes, round_over
from selfimprove.store.state import State

Flow = Generator[Draft, State, State]


def screen_all(state: State, deps: Deps) -> Flow:
    """Measure every candidate of the round until their ranking stands, then settle each.

    When the round's time is over, what has been measured until then is all there is.
    """
    for name in _unsettled(state):
        state = yield from _refuse_known(state, deps, name)
    race = race_of(state)
    while wanted := screening.next_runs(race, _runs(state), _incumbent(state)):
        if round_over(state, deps):
            break
        for name in wanted:
            state = yield from _run_once(state, deps, name)
    for name in _unsettled(state):
        state = yield _settled(state, result_of(state, name))
    return state


def race_of(state: State) -> Race:
    """How candidates are screened, by the noise of the baseline."""
    assert state.facts is not None
    assert state.baseline is not None
    spread, scale = noise([sample.score for sample in state.baseline.measurement.samples])
    if state.facts.deterministic:
        spread = 0.0
    return Race(direction=state.facts.direction, noise=spread, scale=scale)


def _unsettled(state: State) -> list[str]:
    return [name for name, each in round_of(state).executors.items() if each.result is None]


def _runs(state: State) -> dict[str, list[float]]:
    executors = round_of(state).executors
    return {
        name: [sample.score for sample in executors[name].samples] for name in _unsettled(state)
    }


def _incumbent(state: State) -> list[float]:
    """The stored score alone: its runs lie back in time, and machines drift."""
    return [round_of(state).incumbent.score]


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
    current = round_of(state)
    executor = current.executors[name]
    if executor.candidate is None or executor.result is not None or round_over(state, deps):
        return state
    index = len(executor.samples)
    about = topic(state, "execution", name, f"measure_{index + 1}")
    ensure_minutes(state, deps, about)
    ensure_time(deps, expected_seconds(state))
    if executor.status != "measuring":
        state = yield control(about, "executor_status", executor=name, status="measuring")
    commit, seed = executor.candidate.commit, _seed(state, deps, index)
    call = tool_call(
        about, "benchmark.run", executor=name, commit=commit, seed=seed, purpose="screening"
    )
    yield call
    log = f"round_{current.number}/{name}_{index + 1}.log"
    found = deps.bench.measure(commit, log, seed)
    if isinstance(found, Failed):
        yield tool_result(call, {"executor": name, "failed": found.analysis.document()})
        return (yield _settled(state, results.from_failed(name, executor, found)))
    told = {"executor": name, "sample": found.sample.document()}
    if not index:
        told["raw"] = found.raw
    spent = {"duration_s": round(found.sample.duration_s, 3)}
    return (yield tool_result(call, told, spent))


def _seed(state: State, deps: Deps, index: int) -> int | None:
    """The seed of a run, the same for all candidates of a round, where the benchmark takes one."""
    settings = deps.config.settings
    if not takes_seed(settings.benchmark_command, settings.seed_env):
        return None
    assert state.facts is not None
    return pair_seed(state.facts.seed_key, round_of(state).number, index, "screening")


def result_of(state: State, name: str) -> BenchmarkResult:
    """What a screened candidate came to: the middle of its runs, and whether it is a regression."""
    facts, current = state.facts, round_of(state)
    assert facts is not None
    assert state.fingerprint is not None
    executor, race = current.executors[name], race_of(state)
    if not executor.samples:
        return results.failure(name, executor, _unmeasured())
    scores = [sample.score for sample in executor.samples]
    middle = screening.estimate(scores, race.scale)
    score = math.exp(middle) if race.scale == "ratio" else middle
    if len(scores) == 1:
        score = scores[0]  # to the last digit
    hopeless = name in screening.dropped(race, {name: scores}, _incumbent(state))
    result = results.from_samples(name, executor, score, state.fingerprint)
    if hopeless:
        why = results.regression(score, current.incumbent, facts.metric)
        result = result.model_copy(update={"status": "regression", "failure_analysis": why})
    return result


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


def expected_seconds(state: State) -> float:
    """How long one measurement takes, from the baseline's slowest run."""
    assert state.baseline is not None
    return max(sample.duration_s for sample in state.baseline.measurement.samples)


def ensure_time(deps: Deps, seconds: float) -> None:
    """Raise EndRun where a measurement of this length could not end in time."""
    if not deps.deadline.allows(seconds):
        raise EndRun("time", "the time given is over: no further measurement would end in it")
