"""What a long record costs: resume at round 2,000, and looking at 5,000 rounds.

    python benchmarks/long_records.py [--resumed 2000] [--rounds 5000] [--keep FOLDER]

CPU seconds, user and system, of the process and of all it starts. Exits with 1 where a limit is
missed: a resume at round 2,000 takes at most twice what it takes at round 20; `status`, `history`
and `chart` at 5,000 rounds take less than two seconds each; keeping `tracking/raw_data.json` up
takes at most 20 ms a round.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from selfimprove.agents.scripted import Script
from selfimprove.process import StopToken
from selfimprove.store import layout as places
from selfimprove.store.projections import Rows
from selfimprove.store.writer import Writer
from selfimprove.testing.longrun import fill, lengthen
from selfimprove.testing.rehearsal import Rehearsal, number_plan, rehearse, stopping
from selfimprove.testing.scripts import position

RESUMED, LONG = 2_000, 5_000
TIMES = 3
RESUME_FACTOR, LOOK_S, ROW_MS = 2.0, 2.0, 20.0


def raising(request: object, tree: Path) -> dict[str, object]:
    """A plan that makes the score worse: a round that merges nothing."""
    place = position(request.agent_id)  # type: ignore[attr-defined]
    now = int((tree / "src" / "abc"[place]).read_text())
    planned: Script = number_plan("abc"[place], now + 1)
    return planned(request, tree)  # type: ignore[arg-type]


def begun(folder: Path) -> Rehearsal:
    """A run of one round without a win, of three executors."""
    settings = {"number_of_agents": 3, "patience": 10**6}
    return rehearse(folder, planner=raising, settings=settings)


def cpu(*words: str) -> float:
    """CPU seconds of a command of this tool."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "selfimprove", *words], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def resumed(play: Rehearsal) -> float:
    """CPU seconds of taking the run up, in a process forked from this one, until it is open."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    child = os.fork()
    if child == 0:
        stop = StopToken()
        opened = stopping(stop, lambda envelope: envelope.payload.get("event") == "run_opened")
        play.run([opened], stop, max_iterations=10**6)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def keeping_up(play: Rehearsal) -> float:
    """CPU milliseconds for the rows of one more round, and their file whole on disk."""
    file = play.layout.root / places.RAW_DATA
    rows = file.read_bytes().splitlines()[-4:-1]
    new = [row.rstrip(b",").replace(b'"plan_id": "', b'"plan_id": "x') for row in rows]
    writer, spent = Writer(play.layout.root), []
    for _ in range(10):
        before = time.process_time()
        writer._grow(Rows(new, [], []))
        spent.append((time.process_time() - before) * 1000)
        new = [row.replace(b'"x', b'"xx') for row in new]
    return sum(spent) / len(spent)


def main() -> int:
    """Build, measure, say."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=LONG)
    parser.add_argument("--resumed", type=int, default=RESUMED)
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    folder = given.keep or Path(tempfile.mkdtemp(prefix="long-records-"))
    play = begun(folder)
    play.run(max_iterations=1)
    lengthen(play.layout, 20)
    short = min(resumed(play) for _ in range(TIMES))
    lengthen(play.layout, given.resumed)
    late = min(resumed(play) for _ in range(TIMES))
    print(f"resume at round 20: {short:.2f} s, at {given.resumed}: {late:.2f} s", flush=True)
    fill(play.layout, given.rounds)
    target = str(play.repository.path)
    looks = {name: cpu(name, target) for name in ("status", "history", "chart")}
    rows = keeping_up(play)
    for name, seconds in looks.items():
        print(f"{name} at round {given.rounds}: {seconds:.2f} s")
    print(f"raw_data.json at round {given.rounds}: {rows:.1f} ms a round")
    if not given.keep:
        shutil.rmtree(folder)
    good = late / short <= RESUME_FACTOR and max(looks.values()) < LOOK_S and rows <= ROW_MS
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
