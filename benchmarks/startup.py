"""What `selfimprove --help` costs in CPU time, beside `python -c pass`.

    python benchmarks/startup.py [--json]

Both are run in turn, several times each, in a process of their own; the least CPU time counts.
Exits with 1 where `--help` takes more than 0.3 s of CPU.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys

RUNS = 7
LIMIT_S = 0.3
COMMANDS = {
    "python": [sys.executable, "-c", "pass"],
    "selfimprove": [sys.executable, "-m", "selfimprove", "--help"],
}


def cpu_seconds(command: list[str]) -> float:
    """User and system time of one run, its children included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)


def measure() -> dict[str, float]:
    """The least CPU seconds of each command, and their ratio."""
    for command in COMMANDS.values():
        cpu_seconds(command)  # bytecode and disk caches warm
    taken: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(RUNS):
        for name, command in COMMANDS.items():
            taken[name].append(cpu_seconds(command))
    best = {f"{name}_s": round(min(times), 4) for name, times in taken.items()}
    return {**best, "ratio": round(best["selfimprove_s"] / best["python_s"], 2)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    found = measure()
    if parser.parse_args().json:
        print(json.dumps(found))
    else:
        print(f"python -c pass       {found['python_s']:.3f} s of CPU")
        print(f"selfimprove --help   {found['selfimprove_s']:.3f} s of CPU ({found['ratio']} x)")
    return 0 if found["selfimprove_s"] <= LIMIT_S else 1


if __name__ == "__main__":
    sys.exit(main())
