"""`benchmark`: run it in the room, report score and spread."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from selfimprove.app.common import confirmation, measuring_trusted, say, where, with_environment
from selfimprove.bench.failures import Failed
from selfimprove.bench.seeds import seed_for
from selfimprove.bench.stats import mean, median, spread
from selfimprove.contracts.settings import Settings
from selfimprove.errors import ConfigError
from selfimprove.process import StopToken, signals_to
from selfimprove.session import prepare_root
from selfimprove.setup.begin import RUNS, facts_of
from selfimprove.setup.outlook import drift, outlook, provable, round_seconds
from selfimprove.site import open_site
from selfimprove.steps.confirming import most_pairs
from selfimprove.store import lock
from selfimprove.store.record import load_state
from selfimprove.wiring import Control, build_deps, open_quarantine, open_room

if TYPE_CHECKING:
    from selfimprove.app.options import BenchmarkOptions


def benchmark(options: BenchmarkOptions) -> int:
    """Measure the incumbent, or the target's commit where there is no run yet."""
    site = with_environment(open_site(where(options), {}))
    stop = StopToken()
    with signals_to(stop), lock.held(site.layout.lock):
        prepare_root(site)
        state = load_state(site.layout)
        facts = state.facts or facts_of(site, open_quarantine(site), open_room(site, stop).level)
        deps = build_deps(site, facts, Control(stop, waiting=say))
        if not measuring_trusted(site, state, deps):
            confirmation(yes=options.yes)(site, state, deps)
        commit = state.incumbent.commit if state.incumbent else facts.base_commit
        settings = site.config.settings
        scores, seconds = [], []
        for index in range(options.runs or RUNS):
            seed = seed_for(settings, facts.seed_key, 0, index, "baseline")
            found = deps.bench.measure(commit, f"benchmark/{index + 1}.log", seed)
            if isinstance(found, Failed):
                raise ConfigError(
                    f"benchmark {settings.benchmark_command!r}: {found.analysis.what}",
                    f"see {site.layout.logs}/benchmark/{index + 1}.log",
                )
            scores.append(found.sample.score)
            seconds.append(found.sample.duration_s)
            say(f"run {index + 1}: {found.sample.score:g}")
    _tell(options, settings, (facts.metric, commit), (scores, seconds))
    return 0


def _tell(
    options: BenchmarkOptions,
    settings: Settings,
    about: tuple[str, str],
    runs: tuple[list[float], list[float]],
) -> None:
    metric, commit = about
    scores, seconds = runs[0], median(runs[1])
    exact, most = len(set(scores)) == 1, most_pairs(settings, seconds, None)
    answer: dict[str, Any] = {
        "metric": metric,
        "commit": commit,
        "scores": scores,
        "score": median(scores),
        "mean": mean(scores),
        "spread": spread(scores),
        "deterministic": len(scores) > 1 and exact,
        "seconds": seconds,
        "drift": drift(scores),
        "max_pairs": most,
        "round_seconds": round_seconds(settings, seconds, exact=exact),
        "smallest_gain": provable(scores, settings, most),
    }
    if options.json:
        print(json.dumps(answer, indent=2))  # noqa: T201
        return
    print(  # noqa: T201
        f"{metric}: {answer['score']:g} (median of {len(scores)}), spread {answer['spread']:.2%}, "
        f"{seconds:.2f} s a run\n"
        f"{outlook(scores, seconds, settings)}"
    )
