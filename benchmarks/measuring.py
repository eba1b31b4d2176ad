"""What measuring a candidate costs beyond the benchmark itself, in time on the clock.

    python benchmarks/measuring.py [--files 50000] [--runs 30] [--sandbox auto|off] [--json]

On a repository of 200 files, a measurement (a throw-away tree, the room, the score read) is taken
in turns with the same command as a bare process in a plain checkout; the difference is the cost. On
a large one, a candidate that nobody has measured yet (one file changed) is measured, its tree
included, and compared with `git worktree add` of the same commit.

Exits with 1 where a measurement costs more than 60 ms over the bare process on the small
repository, or more than a tenth of `git worktree add` on the large one. Medians, so that a busy
moment does not decide.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from selfimprove.bench.measure import Measured
from selfimprove.deps import Deps
from selfimprove.process import StopToken
from selfimprove.setup.begin import facts_of
from selfimprove.site import Where, open_site
from selfimprove.testing.repository import Repository, build_repository, goal_text
from selfimprove.vcs.index import tree_with
from selfimprove.wiring import Control, build_deps, open_quarantine, open_room

SMALL = 200
LIMIT_S = 0.060
SHARE = 0.1
FIRST_S = "2000-01-01T00:00:00Z"
BENCHMARK = 'read -r number < package/number.txt\necho "{\\"score\\": $number}"\n'
COMMAND = ("sh", "bench.sh")
Figures = dict[str, dict[str, float]]


def target(folder: Path, files: int) -> Repository:
    """A repository of so many files, fifty to a folder."""
    text = "".join(f"def function_{n}(x):\n    return x * {n} + 1\n\n\n" for n in range(30))
    made = {
        f"package/part_{n // 50}/module_{n}.py": f'"""Module {n}."""\n\n{text}'
        for n in range(files - 3)
    }
    made |= {"package/number.txt": "100000\n", "bench.sh": BENCHMARK}
    return build_repository(folder / "target", made, goal_text("sh bench.sh", "package/"))


def opened(repository: Repository, folder: Path, sandbox: str) -> tuple[Deps, str]:
    """What the steps of a run would be given, and the commit it begins from."""
    flags = {"sandbox.mode": sandbox, "benchmark_load_wait": 0}
    site = open_site(Where(repository.path, trees=folder / "trees"), flags)
    stop = StopToken()
    facts = facts_of(site, open_quarantine(site), open_room(site, stop).level)
    return build_deps(site, facts, Control(stop)), facts.base_commit


def candidate(deps: Deps, base: str, number: int) -> str:
    """A commit with another number, made as an executor's is."""
    quarantine = deps.workshop.tools.quarantine
    oid = quarantine.store(f"{number}\n".encode())
    tree = tree_with(quarantine, base, [], {"package/number.txt": ("100644", oid)})
    return quarantine.commit_tree(tree, [base], f"{number}\n", FIRST_S)


@dataclass(frozen=True)
class Taken:
    """Seconds that something took."""

    wall: float
    cpu: float
    """User and system, of this process and of all it started."""

    def __sub__(self, other: Taken) -> Taken:
        return Taken(self.wall - other.wall, self.cpu - other.cpu)


def taken(work: Callable[[], object]) -> Taken:
    before = now()
    work()
    return now() - before


def now() -> Taken:
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return Taken(time.perf_counter(), sum(one.ru_utime + one.ru_stime for one in usages))


def median(found: Sequence[Taken]) -> dict[str, float]:
    """The median of each."""
    return {
        "wall_s": round(statistics.median(one.wall for one in found), 4),
        "cpu_s": round(statistics.median(one.cpu for one in found), 4),
    }


def measured(deps: Deps, commit: str) -> None:
    found = deps.bench.measure(commit, "cost.log", None)
    if not isinstance(found, Measured):
        raise SystemExit(found.analysis.what)


def small(folder: Path, runs: int, sandbox: str) -> Figures:
    """A measurement of a commit that is prepared, in turns with the bare process."""
    repository = target(folder, SMALL)
    deps, base = opened(repository, folder, sandbox)
    measured(deps, base)
    ours, bare = [], []
    for _ in range(runs):
        ours.append(taken(lambda: measured(deps, base)))
        bare.append(taken(lambda: run(COMMAND, repository.path)))
    costs = [one - other for one, other in zip(ours, bare, strict=True)]
    return {"measured": median(ours), "bare": median(bare), "cost": median(costs)}


def large(folder: Path, files: int, runs: int, sandbox: str) -> Figures:
    """A new candidate's first measurement and a later one, and `git worktree add`."""
    repository = target(folder, files)
    deps, base = opened(repository, folder, sandbox)
    measured(deps, base)
    first, again, trees = [], [], []
    for index in range(runs):
        commit = candidate(deps, base, 99_000 - index)
        first.append(taken(lambda commit=commit: measured(deps, commit)))
        again.append(taken(lambda commit=commit: measured(deps, commit)))
        tree = folder / f"worktree-{index}"
        add = ("git", "worktree", "add", "--quiet", "--detach", str(tree), base)
        trees.append(taken(lambda add=add: run(add, repository.path)))
        run(("git", "worktree", "remove", "--force", str(tree)), repository.path)
    return {"first": median(first), "again": median(again), "worktree_add": median(trees)}


def run(argv: tuple[str, ...], cwd: Path) -> None:
    subprocess.run(argv, cwd=cwd, stdout=subprocess.DEVNULL, check=True)


def figures(given: argparse.Namespace) -> tuple[Figures, Figures]:
    """Both repositories' figures."""
    with tempfile.TemporaryDirectory(prefix="measuring-") as name:
        tempfile.tempdir = name  # a measuring slot of its own: nobody else is waited for
        few = small(Path(name) / "small", given.runs, given.sandbox)
        many = large(Path(name) / "large", given.files, max(3, given.runs // 6), given.sandbox)
    return few, many


def show(name: str, found: dict[str, float]) -> None:
    print(f"  {name:44} {1000 * found['wall_s']:8.0f} ms, {1000 * found['cpu_s']:6.0f} ms of CPU")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=50_000)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--sandbox", choices=("auto", "off"), default="auto")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    few, many = figures(given)
    shares = {
        clock: max(many[name][clock] for name in ("first", "again")) / many["worktree_add"][clock]
        for clock in ("wall_s", "cpu_s")
    }
    if given.json:
        print(json.dumps({"small": few, "large": many, "shares": shares}))
    else:
        print(f"{SMALL} files:")
        show("the command as a bare process", few["bare"])
        show("measured, beyond that", few["cost"])
        print(f"{given.files} files:")
        show("git worktree add", many["worktree_add"])
        show("a new candidate measured", many["first"])
        show("the same once more", many["again"])
        print(
            f"  at most {shares['wall_s']:.3f} of git worktree add ({shares['cpu_s']:.3f} of CPU)"
        )
    kept = few["cost"]["wall_s"] <= LIMIT_S and shares["wall_s"] <= SHARE
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
