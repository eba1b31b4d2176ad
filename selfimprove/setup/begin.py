"""The set-up of a run as a step: facts, baseline, and what follows from it.

Like every step it yields drafts and skips what the journal already has, so that a set-up that was
interrupted goes on where it was.
"""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Callable, Generator
from typing import Any

from selfimprove.agents.offline.profile import profiled_command, read_profile
from selfimprove.bench.failures import Failed
from selfimprove.bench.measure import Measured
from selfimprove.bench.seeds import seed_for
from selfimprove.bench.stats import median
from selfimprove.contracts.base import utc_now
from selfimprove.contracts.benchmark import Fingerprint, Inside, Measurement, Sample
from selfimprove.contracts.envelope import Draft, control, tool_call, tool_result
from selfimprove.contracts.tracking import Baseline
from selfimprove.deps import Deps
from selfimprove.errors import ConfigError
from selfimprove.site import Site, benchmark_files, refuse_blocked, starting_point, uncommitted
from selfimprove.steps.milestones import first_phase
from selfimprove.store.state import Facts, Incumbent, State
from selfimprove.vcs.export import take_uncommitted
from selfimprove.vcs.guard import self_scored
from selfimprove.vcs.quarantine import Quarantine
from selfimprove.vcs.scope import Scope

PROFILED = 60
"""Hot functions that are kept."""
RUNS = 3
"""Validating runs of the benchmark."""
LEAST_TIMEOUT = 60.0
TIMEOUT_FACTOR = 5.0

Drafts = Generator[Draft, State, State]


def facts_of(site: Site, quarantine: Quarantine, level: str) -> Facts:
    """What is fixed before anything is measured; raises TargetError, ConfigError."""
    goal, settings = site.goal, site.config.settings
    refuse_blocked(site, goal.slug)
    ref, commit = starting_point(site)
    quarantine.take(commit)
    made = benchmark_files(site)
    taken, programs = take_uncommitted(site.target.top, uncommitted(site, made))
    extra = {path: quarantine.store(data) for path, data in taken.items()}
    return Facts(
        run_id=f"run_{uuid.uuid4().hex[:12]}",
        seed_key=secrets.token_hex(16),
        topic=site.topic,
        goal_slug=goal.slug,
        objective=goal.objective,
        metric=goal.metric.name,
        unit=goal.metric.unit,
        direction=settings.benchmark_direction or goal.metric.direction,
        target_value=settings.target_value,
        target_branch=ref,
        base_commit=commit,
        improve_ref=f"refs/heads/{site.names(goal.slug).improve}",
        benchmark_timeout=settings.benchmark_timeout or 0.0,
        deterministic=False,
        score_keys=[],
        opened=[],
        sealed_extra=extra,
        sealed_programs=sorted(programs),
        level=level,
        self_scored=self_scored(Scope.of(goal.scope, site.target.prefix), made),
        benchmark_files=made,
    )


def run_begun(site: Site, facts: Facts) -> Draft:
    """The first line of a run's journal."""
    return control(
        "setup",
        "run_begun",
        facts=facts.document(),
        goal=site.goal.document(),
        phase=first_phase(site.goal),
    )


def measure_baseline(state: State, deps: Deps, mark_of: Callable[[Facts], Fingerprint]) -> Drafts:
    """Run the benchmark until it has been seen to give a score three times; then fix the facts."""
    facts = state.facts
    assert facts is not None
    if state.baseline is not None:
        return state
    while len(state.samples) < RUNS:
        state = yield from _one_run(state, deps, facts)
    samples = state.samples
    profile = yield from _profile(deps, facts)
    slowest = max(sample.duration_s for sample in samples)
    timeout = facts.benchmark_timeout or max(LEAST_TIMEOUT, TIMEOUT_FACTOR * slowest)
    inside = state.seen.get("inside")
    settled = facts.model_copy(
        update={
            "benchmark_timeout": timeout,
            "deterministic": deterministic(samples),
            "score_keys": state.seen.get("keys", []),
            "opened": state.seen.get("opened", []),
            "tests": _tests(deps, samples[-1], state.seen.get("primary", "")),
            "left_behind": state.seen.get("left_behind", 0),
            "inside": Inside.parse(inside, "the bootstrap's report") if inside else None,
            "profile": profile,
        }
    )
    mark = mark_of(settled)  # what the runs were seen to open is sealed, and so part of it
    score = median([sample.score for sample in samples])
    sub_scores = samples[-1].sub_scores
    incumbent = Incumbent(commit=facts.base_commit, score=score, sub_scores=sub_scores)
    baseline = Baseline(
        metric=facts.metric,
        direction=facts.direction,
        score=score,
        sub_scores=sub_scores,
        deterministic=settled.deterministic,
        commit=facts.base_commit,
        measurement=Measurement(samples=samples, fingerprint=mark),
        timestamp=utc_now(),
    )
    return (
        yield control(
            "setup",
            "baseline",
            baseline=baseline.document(),
            incumbent=incumbent.document(),
            fingerprint=mark.document(),
            facts=settled.document(),
        )
    )


def _one_run(state: State, deps: Deps, facts: Facts) -> Drafts:
    settings, index = deps.config.settings, len(state.samples)
    seed = seed_for(settings, facts.seed_key, 0, index, "baseline")
    call = tool_call(
        f"setup/baseline_{index + 1}",
        "benchmark.run",
        commit=facts.base_commit,
        seed=seed,
        purpose="baseline",
    )
    yield call
    log = f"round_0/baseline_{index + 1}.log"
    if index == 0:
        found, seen = deps.bench.watched(facts.base_commit, log, seed)
    else:
        found, seen = deps.bench.measure(facts.base_commit, log, seed), {}
    if isinstance(found, Failed):
        yield tool_result(call, {"failed": found.analysis.document()})
        why = " ".join(found.analysis.why.split())[:300]
        raise ConfigError(
            f"benchmark {settings.benchmark_command!r}: {found.analysis.what}"
            + (f" ({why})" if why else ""),
            f"see {deps.workshop.tools.logs / log}, mend the command or its format, start again",
        )
    assert isinstance(found, Measured)
    if index == 0:
        seen |= {"keys": sorted(found.keys), "primary": found.primary}
        seen |= {"inside": found.inside.document()} if found.inside else {}
    seen["left_behind"] = max(found.left_behind, state.seen.get("left_behind", 0))
    spent = {"duration_s": round(found.sample.duration_s, 3)}
    return (yield tool_result(call, {"sample": found.sample.document(), "seen": seen}, spent))


def _profile(deps: Deps, facts: Facts) -> Generator[Draft, State, dict[str, Any] | None]:
    """Where the baseline spends its time, for agents that rank ideas by it; Python alone tells."""
    if "offline" not in deps.roster.specs():
        return None
    settings = deps.config.settings
    call = tool_call("setup/profile", "benchmark.profile", commit=facts.base_commit)
    yield call
    seed = seed_for(settings, facts.seed_key, 0, 0, "baseline")
    written = deps.bench.answer_of(
        profiled_command(settings.benchmark_command),
        facts.base_commit,
        "round_0/profile.log",
        seed,
    )
    found = read_profile(written)
    functions = found.document()["functions"][:PROFILED]
    yield tool_result(call, {"functions": len(functions)})
    return {**found.document(), "functions": functions} if functions else None


def _tests(deps: Deps, sample: Sample, primary: str) -> dict[str, float]:
    """How many tests a report tells of: no candidate may run fewer, or skip more."""
    if deps.config.settings.benchmark_format != "junit":
        return {}
    numbers = {**sample.sub_scores, primary: sample.score}
    return {name: numbers[name] for name in ("tests", "skipped") if name in numbers}


def deterministic(samples: list[Sample]) -> bool:
    """Every run gave the same score to the last digit."""
    return len({sample.score for sample in samples}) == 1


def remeasure(
    state: State,
    deps: Deps,
    mark: Fingerprint,
    reason: str,
    tell: Callable[[list[Sample]], None] = lambda _: None,
) -> Drafts:
    """Measure the incumbent anew, where conditions are no longer those of its score."""
    assert state.incumbent is not None
    assert state.facts is not None
    settings, key = deps.config.settings, state.facts.seed_key
    samples = []
    for index in range(RUNS):
        seed = seed_for(settings, key, state.number, index, "baseline")
        log = f"round_0/again_{index + 1}.log"
        found = deps.bench.measure(state.incumbent.commit, log, seed)
        if isinstance(found, Failed):
            raise ConfigError(
                f"the benchmark fails on the incumbent: {found.analysis.what}", "mend it"
            )
        samples.append(found.sample)
    tell(samples)
    facts = state.facts.model_copy(update={"deterministic": deterministic(samples)})
    incumbent = Incumbent(
        commit=state.incumbent.commit,
        score=median([sample.score for sample in samples]),
        sub_scores=samples[-1].sub_scores,
    )
    return (
        yield control(
            "setup",
            "baseline",
            incumbent=incumbent.document(),
            facts=facts.document(),
            fingerprint=mark.document(),
            reason=reason,
        )
    )
