"""The set-up of a run as a step: facts, baseline, and what follows from it.

Like every step it yields drafts and skips what the journal already has, so that a set-up that was
interrupted goes on where it was.
"""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from selfimprove.agents.offline.profile import profiled_command, read_profile
from selfimprove.bench.failures import Failed
from selfimprove.bench.inside import how_run
from selfimprove.bench.measure import Bench, Measured, bound
from selfimprove.bench.seeds import seed_for
from selfimprove.bench.stats import median
from selfimprove.contracts.base import utc_now
from selfimprove.contracts.benchmark import Fingerprint, Inside, Measurement, Sample
from selfimprove.contracts.envelope import Draft, control, tool_call, tool_result
from selfimprove.contracts.tracking import Baseline
from selfimprove.deps import Deps
from selfimprove.errors import ConfigError
from selfimprove.setup.canaries import IS_DRAW, REMEDIES, Canaries
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


@dataclass(frozen=True)
class Settling:
    """What the facts that a baseline's runs told are joined with."""

    mark_of: Callable[[Facts], Fingerprint]
    bench_of: Callable[[Facts], Bench]
    say: Callable[[str], None] = lambda _: None


def measure_baseline(state: State, deps: Deps, settling: Settling) -> Drafts:
    """Run the benchmark until it has been seen to give a score three times; then fix the facts.

    Before they are fixed it is tried on changes whose verdict is known; raises ConfigError.
    """
    facts = state.facts
    assert facts is not None
    if state.baseline is not None:
        return state
    while len(state.samples) < RUNS:
        state = yield from _one_run(state, deps, facts)
    samples = state.samples
    settled = settled_facts(deps, facts, samples, state.seen)
    bench = settling.bench_of(settled)
    canaries = Canaries(deps, settled, tuple(samples), bench, facts.base_commit)
    settling.say(canaries.cost())
    state = yield from try_canaries(state, canaries)
    if any(each.name == IS_DRAW and each.grade == "note" for each in state.canaries):
        settled = settled.model_copy(update={"deterministic": False})
    profile = yield from _profile(deps, facts)
    settled = settled.model_copy(update={"profile": profile})
    return (yield _baselined(settled, samples, settling.mark_of(settled)))


def settled_facts(
    deps: Deps, facts: Facts, samples: Sequence[Sample], seen: Mapping[str, Any]
) -> Facts:
    """The facts with what runs of the base commit told."""
    slowest = max(sample.duration_s for sample in samples)
    timeout = facts.benchmark_timeout or max(LEAST_TIMEOUT, TIMEOUT_FACTOR * slowest)
    inside = seen.get("inside")
    return facts.model_copy(
        update={
            "benchmark_timeout": timeout,
            "deterministic": deterministic(samples),
            "score_keys": seen.get("keys", []),
            "opened": seen.get("opened", []),
            "tests": _tests(deps, samples[-1], seen.get("primary", "")),
            "left_behind": seen.get("left_behind", 0),
            "mentions": seen.get("mentions"),
            "found_as": seen.get("primary", ""),
            "inside": (followed := Inside.parse(inside, "the report") if inside else None),
            "how_run": how_run(
                deps.config.settings.benchmark_format,
                followed,
                deps.workshop.rules.in_scope_from_start,
            ),
        }
    )


def try_canaries(state: State, canaries: Canaries) -> Drafts:
    """Try what every set-up tries; raises ConfigError for a benchmark that fails it."""
    for label, attempt in canaries.at_setup().items():
        call = tool_call(
            f"setup/canary_{label}", "benchmark.canary", canary=label, commit=canaries.commit
        )
        yield call
        found = attempt()
        state = yield tool_result(call, {"canary": found.document()})
        if found.grade == "problem":
            command = canaries.deps.config.settings.benchmark_command
            raise ConfigError(
                f"benchmark {command!r} cannot be trusted ({found.name}): {found.text}",
                f"{REMEDIES[found.name]}; see {canaries.logs(label)}",
            )
    return state


def _baselined(settled: Facts, samples: Sequence[Sample], mark: Fingerprint) -> Draft:
    """The envelope that fixes the facts; what the runs were seen to open is part of the mark."""
    score = median([sample.score for sample in samples])
    sub_scores = samples[-1].sub_scores
    incumbent = Incumbent(commit=settled.base_commit, score=score, sub_scores=sub_scores)
    baseline = Baseline(
        metric=settled.metric,
        direction=settled.direction,
        score=score,
        sub_scores=sub_scores,
        deterministic=settled.deterministic,
        commit=settled.base_commit,
        measurement=Measurement(samples=list(samples), fingerprint=mark),
        timestamp=utc_now(),
    )
    return control(
        "setup",
        "baseline",
        baseline=baseline.document(),
        incumbent=incumbent.document(),
        fingerprint=mark.document(),
        facts=settled.document(),
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
    found, seen = baseline_run(deps, facts, index, seed)
    if isinstance(found, Failed):
        yield tool_result(call, {"failed": found.analysis.document()})
        why = " ".join(found.analysis.why.split())[:300]
        raise ConfigError(
            f"benchmark {settings.benchmark_command!r}: {found.analysis.what}"
            + (f" ({why})" if why else ""),
            f"see {deps.workshop.tools.logs / _log(index)}, mend the command or its format, start "
            "again",
        )
    seen |= most_seen(found, state.seen)
    spent = {"duration_s": round(found.sample.duration_s, 3)}
    told = {"sample": found.sample.document(), "seen": seen, **bound(found)}
    return (yield tool_result(call, told, spent))


def baseline_run(
    deps: Deps, facts: Facts, index: int, seed: int | None
) -> tuple[Measured | Failed, dict[str, Any]]:
    """One run of the base commit, and what it told besides: of the first, which files it opened."""
    if index:
        return deps.bench.measure(facts.base_commit, _log(index), seed), {}
    found, seen = deps.bench.watched(facts.base_commit, _log(index), seed)
    if isinstance(found, Measured):
        seen |= {"keys": sorted(found.keys), "primary": found.primary}
        seen |= {"inside": found.inside.document()} if found.inside else {}
    return found, seen


def base_runs(deps: Deps, facts: Facts) -> tuple[list[Sample], Facts]:
    """Runs of the base commit that nothing journals, and the facts with what they told.

    Raises ConfigError with what became of one that failed.
    """
    samples: list[Sample] = []
    told: dict[str, Any] = {}
    for index in range(RUNS):
        seed = seed_for(deps.config.settings, facts.seed_key, 0, index, "baseline")
        found, seen = baseline_run(deps, facts, index, seed)
        if isinstance(found, Failed):
            why = " ".join(found.analysis.why.split())[:300]
            told_why = f" ({why})" if why else ""
            raise ConfigError(
                f"the benchmark: {found.analysis.what}{told_why}", "mend it, then try again"
            )
        told |= seen | most_seen(found, told)
        samples.append(found.sample)
    return samples, settled_facts(deps, facts, samples, told)


def most_seen(found: Measured, before: Mapping[str, Any]) -> dict[str, int]:
    """What no candidate may have more of than any run of the baseline."""
    return {
        "left_behind": max(found.left_behind, before.get("left_behind", 0)),
        "mentions": max(found.mentions, before.get("mentions", 0)),
    }


def _log(index: int) -> str:
    return f"round_0/baseline_{index + 1}.log"


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


def deterministic(samples: Sequence[Sample]) -> bool:
    """Every run gave the same score to the last digit."""
    return len({sample.score for sample in samples}) == 1


def remeasure(
    state: State,
    deps: Deps,
    mark: Fingerprint,
    reason: str,
    tell: Callable[[list[Sample]], None] = lambda _: None,
) -> Drafts:
    """Measure the incumbent anew, where conditions are no longer those of its score.

    Where it is another benchmark now, or another environment, it is tried as at set-up.
    """
    assert state.incumbent is not None
    assert state.facts is not None
    settings, key = deps.config.settings, state.facts.seed_key
    commit = state.incumbent.commit
    samples = []
    for index in range(RUNS):
        seed = seed_for(settings, key, state.number, index, "baseline")
        log = f"round_0/again_{index + 1}.log"
        found = deps.bench.measure(commit, log, seed)
        if isinstance(found, Failed):
            raise ConfigError(
                f"the benchmark fails on the incumbent: {found.analysis.what}", "mend it"
            )
        samples.append(found.sample)
    tell(samples)
    facts = state.facts.model_copy(update={"deterministic": deterministic(samples)})
    if not _same_benchmark(state.fingerprint, mark):
        canaries = Canaries(deps, facts, tuple(samples), deps.bench, commit)
        yield from try_canaries(state, canaries)
    incumbent = Incumbent(
        commit=commit,
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


def _same_benchmark(before: Fingerprint | None, now: Fingerprint) -> bool:
    """Whether two marks differ at most in the machine and in how well it isolates."""
    same = ("benchmark", "environment", "settings")
    return before is None or all(getattr(before, each) == getattr(now, each) for each in same)
