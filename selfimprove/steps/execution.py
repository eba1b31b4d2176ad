"""Step 4: executors carry the approved plans out, each on its own; then each is measured."""

from __future__ import annotations

from collections.abc import Generator

from selfimprove.bench.failures import Failed
from selfimprove.bench.seeds import pair_seed, takes_seed
from selfimprove.contracts.base import utc_now
from selfimprove.contracts.benchmark import BenchmarkResult, FailureAnalysis
from selfimprove.contracts.envelope import Draft, control, tool_call, tool_result
from selfimprove.deps import Deps
from selfimprove.steps import results
from selfimprove.steps.base import Drafts, EndRun, round_of, topic
from selfimprove.steps.budget import ROUND_OVER, ensure_minutes, round_over
from selfimprove.steps.editing import edit_all
from selfimprove.store.state import Facts, State


def run(state: State, deps: Deps) -> Drafts:
    """Edit in parallel, then measure one at a time, when every agent of the round has ended."""
    if not round_of(state).executors:
        approved = round_of(state).approved()
        if not approved:
            return
        named = {name: plan.plan_id for name, plan in approved.items()}
        state = yield control(topic(state, "execution"), "executors_named", executors=named)
    state = yield from edit_all(state, deps)
    for name in round_of(state).executors:
        if round_of(state).executors[name].result is None:
            state = yield from _measure(state, deps, name)


def result_draft(state: State, result: BenchmarkResult) -> Draft:
    """The envelope that settles one executor."""
    about = topic(state, "execution", result.executor_id)
    return control(about, "result", result=result.document())


def _measure(state: State, deps: Deps, name: str) -> Generator[Draft, State, State]:
    facts, current = state.facts, round_of(state)
    executor = current.executors[name]
    candidate = executor.candidate
    assert facts is not None
    assert candidate is not None
    assert state.baseline is not None
    known = deps.attempts.measured_before(
        deps.workshop.tree_oid(current.incumbent.commit), candidate.tree
    )
    if known is not None:
        what = f"the same patch as {known['plan_id']}, which measured {known['score']:g}"
        told = results.analysis(
            "logic_error",
            what,
            "the same change to the same tree would be measured again",
            "plan something that has not been tried on this incumbent",
        )
        return (yield result_draft(state, results.failure(name, executor, told)))
    if round_over(state, deps):
        return (yield result_draft(state, results.failure(name, executor, _unmeasured())))
    about = topic(state, "execution", name, "measure")
    ensure_minutes(state, deps, about)
    ensure_time(deps, expected_seconds(state))
    yield control(about, "executor_status", executor=name, status="measuring")
    seed = screening_seed(facts, deps, current.number)
    call = tool_call(
        about,
        "benchmark.run",
        executor=name,
        commit=candidate.commit,
        seed=seed,
        purpose="screening",
    )
    yield call
    found = deps.bench.measure(candidate.commit, f"round_{current.number}/{name}.log", seed)
    if isinstance(found, Failed):
        yield tool_result(call, {"executor": name, "failed": found.analysis.document()})
        return (yield result_draft(state, results.from_failed(name, executor, found)))
    sample = found.sample
    spent = {"duration_s": round(sample.duration_s, 3)}
    yield tool_result(call, {"executor": name, "sample": sample.document()}, spent)
    status = results.screening(sample.score, current.incumbent, state.baseline, facts.direction)
    assert state.fingerprint is not None
    result = results.from_sample(name, executor, found, status, state.fingerprint)
    if status == "regression":
        told_why = results.regression(sample.score, current.incumbent, facts.metric)
        result = result.model_copy(update={"failure_analysis": told_why})
    return (yield result_draft(state, result.model_copy(update={"timestamp": utc_now()})))


def _unmeasured() -> FailureAnalysis:
    return results.analysis(
        "timeout",
        f"not measured: {ROUND_OVER}",
        "the round's agents and measurements took longer than a round may",
        "the plan itself was not tested",
    )


def screening_seed(facts: Facts, deps: Deps, number: int) -> int | None:
    """One seed for all candidates of a round, where the benchmark takes one."""
    settings = deps.config.settings
    if not takes_seed(settings.benchmark_command, settings.seed_env):
        return None
    return pair_seed(facts.seed_key, number, 0, "screening")


def expected_seconds(state: State) -> float:
    """How long one measurement takes, from the baseline's slowest run."""
    assert state.baseline is not None
    return max(sample.duration_s for sample in state.baseline.measurement.samples)


def ensure_time(deps: Deps, seconds: float) -> None:
    """Raise EndRun where a measurement of this length could not end in time."""
    if not deps.deadline.allows(seconds):
        raise EndRun("time", "the time given is over: no further measurement would end in it")
