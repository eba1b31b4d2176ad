"""Whole runs, real processes: rounds in which there is nothing to find, then one real gain.

    python benchmarks/real_rounds.py noise [--rounds 30]     a benchmark that scatters by 3%
    python benchmarks/real_rounds.py timing [--rounds 20]    a stopwatch, the other core loaded

In each round but the last three scripted executors write notes that nothing reads; in the last one
of them makes the work 15% (noise) or 20% (timing) less. `timing` measures how long a loop takes
while a second process burns the other core for random stretches of time. It asks for gains of more
than 2% (`min_effect`), as a stopwatch deserves, and lets one round in a hundred err (`alpha` 0.01):
at the default of 0.05 one in twenty may, and this plays twenty. Every measurement is a process of
its own in its own tree, as in any run.

Exits with 1 where more no-ops were merged than may be (2 of 30 rounds with noise, none with
timing) or the gain was not.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from selfimprove.contracts.agent import AgentRequest
from selfimprove.contracts.envelope import Envelope
from selfimprove.store.state import State
from selfimprove.testing.rehearsal import number_plan, rehearse, set_numbers
from selfimprove.testing.repository import goal_text
from selfimprove.testing.scripts import position

START = 1_000_000
NOISE = """import json, random
work = int(open("src/work").read())
print(json.dumps({"score": work * random.gauss(1, 0.03)}))
"""
TIMING = """import json, time
work = int(open("src/work").read())
started = time.perf_counter()
total = 0
for number in range(work):
    total += number
print(json.dumps({"score": time.perf_counter() - started}))
"""
LOAD = """import random, time
end = time.monotonic() + 3600
while time.monotonic() < end:
    stretch = time.monotonic() + random.uniform(0, 0.6)
    while time.monotonic() < stretch:
        pass
    time.sleep(random.uniform(0, 0.6))
"""


@dataclass(frozen=True)
class Case:
    """What is played, and what may come of it."""

    benchmark: str
    gain: float
    may_merge: int
    rounds: int
    loaded: bool
    min_effect: float
    alpha: float


CASES = {
    "noise": Case(NOISE, 0.15, may_merge=2, rounds=30, loaded=False, min_effect=0.0, alpha=0.05),
    "timing": Case(TIMING, 0.20, may_merge=0, rounds=20, loaded=True, min_effect=0.02, alpha=0.01),
}


@dataclass
class Watch:
    """Counts what a run does, and says each round as it ends."""

    runs: Counter[str] = field(default_factory=Counter)
    merged: list[int] = field(default_factory=list)

    def __call__(self, envelope: Envelope, state: State) -> None:
        payload = envelope.payload
        if envelope.type == "tool_call" and payload["tool"].startswith("benchmark."):
            self.runs[payload["args"].get("purpose") or payload["tool"]] += 1
        if payload.get("event") == "merge_report":
            report = payload["report"]
            self.merged += [state.number] * (report["status"] == "merged")
            told = report.get("reason") or f"merged, {report['re_benchmark_score']:g}"
            print(f"round {state.number}: {told}", flush=True)


def played(case: Case, rounds: int, folder: Path) -> tuple[State, Watch]:
    """Run it: `rounds` of nothing, and one with a gain."""
    better = round(START * (1 - case.gain))

    def plan(request: AgentRequest, tree: Path) -> dict[str, Any]:
        place = position(request.agent_id)
        if request.round > rounds and not place:
            return number_plan("work", better)(request, tree)
        return number_plan(f"notes_{place}", 10 * request.round + place)(request, tree)

    files = {"src/work": f"{START}\n", "bench.py": case.benchmark}
    files |= {f"src/notes_{place}": "0\n" for place in range(3)}
    settings: dict[str, Any] = {"number_of_agents": 3, "sandbox.mode": "auto", "patience": 1000}
    settings["significance.min_effect"] = case.min_effect
    settings["significance.alpha"] = case.alpha
    goal = goal_text("python3 bench.py")
    play = rehearse(folder, files, goal, settings, planner=plan, executor=set_numbers)
    watch = Watch()
    outcome = play.run([watch], max_iterations=rounds + 1)
    return outcome.state, watch


@contextmanager
def load(wanted: bool) -> Iterator[None]:
    """Another process that burns a core for random stretches, while the body runs."""
    if not wanted:
        yield
        return
    with subprocess.Popen([sys.executable, "-c", LOAD]) as burning:
        try:
            yield
        finally:
            burning.kill()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", choices=CASES)
    parser.add_argument("--rounds", type=int, help="with nothing to find")
    given = parser.parse_args()
    case = CASES[given.case]
    rounds = given.rounds or case.rounds
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="real-rounds-") as name, load(case.loaded):
        state, watch = played(case, rounds, Path(name))
    wrong = [number for number in watch.merged if number <= rounds]
    found = rounds + 1 in watch.merged
    runs = ", ".join(f"{times} {purpose}" for purpose, times in watch.runs.items())
    print(f"{state.number} rounds in {time.monotonic() - started:.0f} s: {runs}")
    print(f"no-ops merged: {len(wrong)} in {rounds} rounds (at most {case.may_merge})")
    print(f"the gain of {case.gain:.0%}: {'merged' if found else 'NOT FOUND'}")
    if state.final is not None:
        told = state.final
        print(f"reported: {told.gain:.1%} [{told.low:.1%}, {told.high:.1%}]")
    return 0 if len(wrong) <= case.may_merge and found else 1


if __name__ == "__main__":
    sys.exit(main())
