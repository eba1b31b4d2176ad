"""What a round costs in CPU beyond its agents and its benchmark, and whether that grows.

    python benchmarks/orchestration.py [--rounds 5] [--every-role] [--sandbox auto|off] [--in DIR]
                                       [--json] [--profile FILE]

Three scripted planners and executors improve a repository of 200 files, every round with three
candidates and a win; the other roles are as they are by default or, with `--every-role`, scripted
too. The scripts and the benchmark are small shell programs. Counted is all CPU time, user and
system, of this process and of everything it starts: git, bubblewrap, the agents. What the same
scripts take when they are run bare is taken off, and what agents of this process take in their
threads; the rest, divided by the candidates, is orchestration.

Where files are made counts: a file system that makes them slowly (ext4 without a journal passes
over all inodes that were freed in the last minutes) is orchestration, too. `--in DIR` has
everything made in another folder.

Exits with 1 where that is more than 0.25 s a candidate, or where later rounds take more than the
first ones.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from selfimprove.agents.offline.agent import OfflineAgent
from selfimprove.contracts.agent import AgentReply
from selfimprove.contracts.envelope import Envelope
from selfimprove.process import StopToken
from selfimprove.session import Asked, take_on
from selfimprove.site import Where, open_site
from selfimprove.store.state import State
from selfimprove.testing.repository import Repository, build_repository, goal_text

LIMIT_S = 0.25
GROWTH = 1.1
"""Later rounds may take this much of what early ones take: what CPU clocks scatter on a machine."""
CANDIDATES = 3
FILES = 200
BARE_RUNS = 40

AGENT = r"""
case $SELFIMPROVE_ROLE in
researcher)
    cat >/dev/null
    echo '{"repo_analysis_summary": "one number decides", "ideas": []}' ;;
planner)
    family=$(sed -n 's/.*"family":\["\([a-z_]*\)".*/\1/p')
    case $SELFIMPROVE_AGENT_ID in *_a) k=1 ;; *_b) k=2 ;; *) k=3 ;; esac
    value=$((100000 - 1000 * SELFIMPROVE_ROUND - k))
    cat <<END
{"hypothesis": "Setting the number to $value should lower the score because less is done",
 "approach_family": "$family", "target_files": ["package/number.txt"],
 "steps": [{"step": 1, "file": "package/number.txt", "change": "write $value"}],
 "expected_outcome": {"metric": "score", "estimated_impact": "2%", "rationale": "less is done"},
 "history_reference": {"builds_on": "none", "avoids": "none"}}
END
    ;;
architect) cat >/dev/null; echo '{"verdict": "approve"}' ;;
critic) cat >/dev/null; echo '{"score": 1.0}' ;;
executor)
    sed -n 's/.*"change":"write \([0-9]*\)".*/\1/p' > package/number.txt
    echo '{"summary": "wrote the number"}' ;;
esac
"""
BENCHMARK = 'read -r number < package/number.txt\necho "{\\"score\\": $number}"\n'
SCRIPTED = ("planner", "executor")
ROLES = ("researcher", "planner", "architect", "critic", "executor")


@dataclass
class Meter:
    """Watches a run: the CPU time at each round's start and end, and what was started in it."""

    spent: dict[int, float] = field(default_factory=dict)
    calls: dict[int, Counter[str]] = field(default_factory=dict)
    thinking: float = 0.0
    """CPU seconds that agents of this process took so far."""
    _from: float = 0.0

    def watch(self, agent: type[OfflineAgent]) -> None:
        """Count what these agents take from here on."""
        ask = agent.ask

        def timed(*args: Any) -> AgentReply:
            began = time.thread_time()
            try:
                return ask(*args)
            finally:
                self.thinking += time.thread_time() - began

        agent.ask = timed  # type: ignore[method-assign]

    def __call__(self, envelope: Envelope, state: State) -> None:
        payload, number = envelope.payload, state.number
        event = payload.get("event")
        if event == "round_started":
            self._from = cpu_seconds() - self.thinking
            self.calls[number] = Counter()
        elif event in ("checkpoint", "stopped") and number:
            self.spent[number] = cpu_seconds() - self.thinking - self._from
        elif envelope.type == "tool_call" and number:
            self._count(payload, self.calls[number])

    @staticmethod
    def _count(payload: dict[str, Any], calls: Counter[str]) -> None:
        if payload["tool"] == "agent.ask":
            calls[payload["args"]["role"]] += 1
        elif payload["tool"] == "benchmark.run":
            calls["benchmark"] += 1
        elif payload["tool"] == "benchmark.pair":
            calls["benchmark"] += 2


def cpu_seconds() -> float:
    """User and system time of this process and of every child, those that still live too."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    ended = sum(usage.ru_utime + usage.ru_stime for usage in usages)
    lists = Path("/proc/self/task").glob("*/children")
    living = (int(pid) for each in lists for pid in each.read_text().split())
    times = (psutil.Process(pid).cpu_times() for pid in living)
    return ended + sum(each.user + each.system for each in times)


def target(folder: Path) -> Repository:
    """A repository of 200 files, most of them Python modules of a few kilobytes."""
    lines = "".join(f"def function_{n}(x):\n    return x * {n} + 1\n\n\n" for n in range(60))
    files = {
        f"package/part_{n % 12}/module_{n}.py": f'"""Module {n}."""\n\n{lines}'
        for n in range(FILES - 3)
    }
    files |= {"package/number.txt": "100000\n", "bench.sh": BENCHMARK}
    return build_repository(folder / "target", files, goal_text("sh bench.sh", "package/"))


def run(folder: Path, rounds: int, sandbox: str, roles: Sequence[str]) -> Meter:
    """A whole run in this process."""
    repository = target(folder)
    script = folder / "agent.sh"
    script.write_text(AGENT)
    flags = {
        "max_iterations": rounds,
        "number_of_agents": CANDIDATES,
        "plateau_window": 1_000_000,
        "benchmark_load_wait": 0,  # what else the machine does is not waited for
        "sandbox.mode": sandbox,
        **{f"agents.{role}": f"command:sh {script}" for role in roles},
    }
    site = open_site(Where(repository.path, trees=folder / "trees"), flags)
    meter = Meter()
    meter.watch(OfflineAgent)
    asked = Asked(confirm=lambda *_: "confirmed", observers=[meter])
    outcome = take_on(site, asked, StopToken())
    if outcome.state.number != rounds or outcome.state.wins_total != rounds:
        raise SystemExit(f"{outcome.state.wins_total} wins in {outcome.state.number} rounds")
    return meter


def bare(folder: Path) -> dict[str, float]:
    """The CPU seconds of each script, run with nothing around it."""
    tree, request = folder / "target", b'{"context":"' + b"x" * 30_000 + b'"}\n'
    script = ["sh", str(folder / "agent.sh")]
    found = {}
    for role in ROLES:
        about = {"SELFIMPROVE_ROLE": role, "SELFIMPROVE_ROUND": "1"}
        env = os.environ | about | {"SELFIMPROVE_AGENT_ID": f"{role}_a"}
        found[role] = _bare(script, tree, env, request)
    subprocess.run(["git", "checkout", "-q", "."], cwd=tree, check=True)
    found["benchmark"] = _bare(["sh", "bench.sh"], tree, dict(os.environ), b"")
    return found


def _bare(argv: list[str], cwd: Path, env: dict[str, str], stdin: bytes) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(BARE_RUNS):
        subprocess.run(argv, cwd=cwd, env=env, input=stdin, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    taken = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return taken / BARE_RUNS


def measured(rounds: int, sandbox: str, roles: Sequence[str]) -> dict[str, Any]:
    """Run, and give the figures."""
    with tempfile.TemporaryDirectory(prefix="orchestration-") as name:
        folder = Path(name)
        tempfile.tempdir = name  # a measuring slot of its own: nobody else is waited for
        started = time.monotonic()
        meter = run(folder, rounds, sandbox, roles)
        wall = time.monotonic() - started
        scripts = bare(folder)
    own, counted = {}, {*roles, "benchmark"}
    for number, spent in meter.spent.items():
        calls = meter.calls[number].items()
        theirs = sum(scripts[name] * times for name, times in calls if name in counted)
        own[number] = (spent - theirs) / CANDIDATES
    first, last = _ends(own)
    return {
        "rounds": rounds,
        "candidates": CANDIDATES * rounds,
        "wall_s": round(wall, 2),
        "median_s": round(statistics.median(own.values()), 4),
        "worst_s": round(max(own.values()), 4),
        "early_s": round(first, 4),
        "late_s": round(last, 4),
        "growth": round(last / first, 3),
        "scripts_s": {name: round(value, 5) for name, value in scripts.items()},
        "calls_a_round": dict(meter.calls[rounds]),
        "by_round_s": [round(own[number], 4) for number in sorted(own)],
    }


def _ends(own: dict[int, float]) -> tuple[float, float]:
    """Medians at the beginning (from round 2: the first one imports) and at the end of a run."""
    ordered = [own[number] for number in sorted(own)][1:]
    width = max(1, min(9, len(ordered) // 2))
    return statistics.median(ordered[:width]), statistics.median(ordered[-width:])


def show(found: dict[str, Any]) -> None:
    """The figures for a reader."""
    calls = ", ".join(f"{times} {name}" for name, times in found["calls_a_round"].items())
    print(f"{found['candidates']} candidates in {found['rounds']} rounds, {found['wall_s']} s")
    print(f"a round asks: {calls}")
    print(f"orchestration    {found['median_s']:.3f} s of CPU a candidate (median)")
    print(f"worst round      {found['worst_s']:.3f} s")
    print(f"early and late   {found['early_s']:.3f} s, {found['late_s']:.3f} s")
    print("by round         " + " ".join(f"{own:.3f}" for own in found["by_round_s"]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--every-role", action="store_true", help="all roles are scripted")
    parser.add_argument("--sandbox", choices=("auto", "off"), default="auto")
    parser.add_argument("--in", dest="place", type=Path, help="make all files below this folder")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--profile", type=Path, help="write what cProfile sees of the main thread")
    given = parser.parse_args()
    if given.rounds < 2:
        parser.error("--rounds: at least 2")
    roles = ROLES if given.every_role else SCRIPTED
    if given.place:
        tempfile.tempdir = str(given.place)
    if given.profile:
        import cProfile

        with cProfile.Profile() as profile:
            found = measured(given.rounds, given.sandbox, roles)
        profile.dump_stats(given.profile)
    else:
        found = measured(given.rounds, given.sandbox, roles)
    print(json.dumps(found)) if given.json else show(found)
    return 0 if found["median_s"] <= LIMIT_S and found["growth"] <= GROWTH else 1


if __name__ == "__main__":
    sys.exit(main())
