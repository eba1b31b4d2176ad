"""Budgets hold: a hundred runs with random budgets, models that talk, and servers that fail.

    python benchmarks/budgets.py [--runs 100] [--from 1]

Each run's budget, what it binds and how its models behave are drawn by the run's number; see
`selfimprove/testing/spending.py`. What counts is the server's own account. Exits with 1 where
run.json has not the server's totals, or a budget was passed at all: a request is reserved at its
worst case before it is made, so nothing is added for a last call.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from selfimprove.testing.spending import played, told


def main() -> int:
    """Play, say, judge."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--from", type=int, default=1, dest="first")
    given = parser.parse_args()
    runs = []
    with tempfile.TemporaryDirectory(prefix="budgets-") as folder:
        tempfile.tempdir = folder
        for number in range(given.first, given.first + given.runs):
            run = played(number, Path(folder) / str(number))
            runs.append(run)
            share = f"{run.spent:g} of {run.cap:g}"
            print(f"{number}: {run.budget} {share}, {run.status}", file=sys.stderr, flush=True)
    print(told(runs))
    return int(any(run.above or not run.agrees for run in runs))


if __name__ == "__main__":
    sys.exit(main())
