"""Whatever agents and candidates do, nothing stays: hundreds of rounds of random misbehaviour.

    python benchmarks/misbehaving.py [--rounds 200] [--seed 1] [--kills 10] [--keep]

Three executors a round each do something at random, by the seed: leave processes behind, plant
locks, hooks, links, pipes and odd names, write wherever they can, take all memory, exit, hang, talk
nonsense, kill whatever they see; and they commit programs that do such things while they are
measured. Meanwhile the run itself is killed (SIGKILL) so many times, and taken up again. One in
four is honest, so that there is something to merge.

Afterwards nothing may be left: no process, mount, control group, folder or lock, no ref that should
not be; the user's repository has to be what it was, byte by byte, but for the refs and objects that
runs publish; the record must be whole. Exits with 1 where anything is found. Needs namespaces:
without them some of this could not be taken back.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from selfimprove.room import cgroups
from selfimprove.room.isolation import probe
from selfimprove.testing.repository import Repository, build_repository, goal_text

AGENT = Path(__file__).with_name("misbehaving_agent.py")
BENCHMARK = 'value=$(sh src/run) || exit 1\necho "{\\"score\\": $value}"\n'
OURS = ("refs/heads/improve/", "refs/tags/archive/", "refs/selfimprove/")
PRIVATE = (*OURS, "refs/heads/experiment/", "refs/target/")
SETTINGS = {
    "number_of_agents": 3,
    "agent_timeout": 6,
    "benchmark_timeout": 3,
    "max_plan_retries": 0,
    "benchmark_load_wait": 0,
    "patience": 1_000_000,
    "plateau_window": 1_000_000,
    "circuit_breaker_threshold": 1_000_000,
    "sandbox": {"mode": "required", "memory_mb": 300, "processes": 60, "disk_mb": 50},
}
ROLES = ("researcher", "planner", "architect", "critic", "executor")


def target(folder: Path) -> Repository:
    """A repository with things of its user's that must stay: hooks, a stash, other branches."""
    files = {"src/run": "echo 100000\n", "bench.sh": BENCHMARK, "notes": "mine\n"}
    repository = build_repository(folder / "target", files, goal_text("sh bench.sh"))
    hook = repository.path / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 0\n")
    (repository.path / "notes").write_text("not committed\n")
    repository.git("branch", "other")
    return repository


def run(folder: Path, repository: Repository, given: argparse.Namespace, word: str) -> Counter[str]:
    """The whole run, killed and taken up again; how often each way it ended."""
    chance, ended = random.Random(given.seed), Counter[str]()
    command = f"command:python3 -I -S {AGENT} {given.seed} {word}"
    settings = SETTINGS | {"agents": dict.fromkeys(ROLES, command)}
    env = {name: value for name, value in os.environ.items() if not name.startswith("SELFIMPROVE_")}
    for name, value in (settings | {"max_iterations": given.rounds}).items():
        env[f"SELFIMPROVE_{name.upper()}"] = json.dumps(value)
    env |= {"HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp")}
    env["MPLCONFIGDIR"] = str(folder / "matplotlib")
    words = [sys.executable, "-m", "selfimprove", "run", str(repository.path), "--yes"]
    words += ["--trees", str(folder / "trees")]
    with (folder / "log").open("ab") as log:
        while True:
            popen = subprocess.Popen(words, env=env, stdout=log, stderr=log)
            try:
                left = given.kills - ended["killed"]
                popen.wait(chance.uniform(5, 40) if left > 0 else None)
            except subprocess.TimeoutExpired:
                popen.send_signal(signal.SIGKILL)
                popen.wait()
                ended["killed"] += 1
                continue
            ended[f"exit {popen.returncode}"] += 1
            return ended


def snapshot(repository: Repository) -> dict[str, str]:
    """Every file of the repository and of its working tree, less what runs may add to."""
    top = repository.path
    found = {}
    for path in sorted(top.rglob("*")):
        name = path.relative_to(top).as_posix()
        published = name.removeprefix(".git/").removeprefix("logs/").startswith(OURS)
        if name.startswith(".selfimprove") or published or path.is_dir():
            continue
        mode = oct(path.lstat().st_mode)
        data = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
        found[name] = f"{mode} {hashlib.sha256(data).hexdigest()}"
    return found


def changed(before: dict[str, str], after: dict[str, str]) -> Iterator[str]:
    """What is not as it was; objects may be added, nothing else."""
    for name in sorted(before.keys() | after.keys()):
        added = name not in before and name.startswith(".git/objects/")
        if before.get(name) != after.get(name) and not added:
            yield f"the user's {name} is not as it was"


def processes(word: str, folder: Path) -> Iterator[str]:
    """Whoever carries the run's word, or stands in its folder."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) in (os.getpid(), os.getppid()):
            continue
        try:
            said = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
            place = str((entry / "cwd").readlink())
        except OSError:
            continue
        if word.encode() in said or place.startswith(str(folder)):
            shown = said.split(b"\0\0")[0].replace(b"\0", b" ")[:100].decode(errors="replace")
            yield f"process {entry.name} is left: {shown}"


def leftovers(folder: Path) -> Iterator[str]:
    """Folders and locks of a run that is over."""
    trees = folder / "trees"
    for pattern in ("**/jobs/*", "**/runs/*", "**/*making-*", "**/editing-*", "**/probe-*"):
        yield from (f"folder {one} is left" for one in trees.glob(pattern))
    for place in (trees, folder / "target" / ".git"):
        yield from (f"lock {one} is left" for one in place.rglob("*.lock"))
    for one in (folder / "tmp").iterdir():
        if one.name != "selfimprove-slots":
            yield f"{one} is left"
    locks = [*(folder / "tmp").rglob("*.lock"), folder / "target/.selfimprove/default/lock"]
    for lock in locks:
        try:
            with FileLock(lock, timeout=0):
                pass
        except Timeout:
            yield f"{lock} is held"
    yield from (f"home holds {one}" for one in (folder / "home").rglob("*"))


def refs(folder: Path, repository: Repository) -> Iterator[str]:
    """Refs that should not be, in the user's repository and in the private clone."""
    (clone,) = (folder / "trees").rglob("quarantine.git")
    for place, known in ((repository.path / ".git", OURS), (clone, PRIVATE)):
        said = git(place, "for-each-ref", "--format=%(refname)").split()
        theirs = ("refs/heads/main", "refs/heads/other") if known is OURS else ()
        yield from (f"{place} has {ref}" for ref in said if not ref.startswith((*known, *theirs)))
        yield from (line for line in git(place, "fsck", "--no-dangling").splitlines() if line)


def git(place: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", f"--git-dir={place}", *words], capture_output=True, text=True, check=False
    )
    return done.stdout + (done.stderr if done.returncode else "")


def groups() -> set[str]:
    """Control groups of ours, of runs that are over."""
    parents = filter(None, map(cgroups.parent, ("memory", "pids")))
    found = (one for each in parents for one in each.folder.glob(f"{cgroups.PREFIX}*"))
    return {str(one) for one in found if not Path("/proc", one.name.split("-")[1]).exists()}


def mounts() -> set[str]:
    return {line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()}


def validated(repository: Repository) -> Iterator[str]:
    words = [sys.executable, "-m", "selfimprove", "validate", str(repository.path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        yield f"validate: {(done.stdout + done.stderr).strip()[-500:]}"


def outcomes(folder: Path) -> Counter[str]:
    """What became of the candidates."""
    found = Counter[str]()
    for path in (folder / "target/.selfimprove/default/state/results").rglob("executor_*.json"):
        result = json.loads(path.read_text())
        told = result.get("failure_analysis") or {}
        cheat = result.get("disqualification") or {}
        found[cheat.get("technique") or told.get("category") or result["status"]] += 1
    return found


def findings(folder: Path, given: argparse.Namespace) -> tuple[list[str], Counter[str]]:
    """Run, then look at everything."""
    for name in ("home", "tmp"):
        (folder / name).mkdir()
    repository, word = target(folder), f"31415.{random.SystemRandom().randrange(10**9)}"
    before, mounted, grouped = snapshot(repository), mounts(), groups()
    ended = run(folder, repository, given, word)
    time.sleep(0.5)
    found = list(processes(word, folder))
    found += [f"{one} is mounted" for one in mounts() - mounted if str(folder) in one]
    found += [f"group {one} is left" for one in groups() - grouped]
    found += [*leftovers(folder), *changed(before, snapshot(repository))]
    found += [*refs(folder, repository), *validated(repository)]
    if ended["exit 0"] != 1:
        found.append(f"the run ended otherwise: {dict(ended)}")
    return found, outcomes(folder) + ended


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--keep", action="store_true", help="leave the folder for a look")
    given = parser.parse_args()
    if probe("auto").level != "bubblewrap":
        print(f"needs namespaces: {probe('auto').reason}")
        return 2
    folder, began = Path(tempfile.mkdtemp(prefix="misbehaving-")), time.monotonic()
    try:
        found, seen = findings(folder, given)
        if found:
            print((folder / "log").read_text(errors="replace")[-2000:])
    finally:
        if not given.keep:
            shutil.rmtree(folder)
    print(f"{given.rounds} rounds, seed {given.seed}, {time.monotonic() - began:.0f} s")
    print(", ".join(f"{times} {name}" for name, times in seen.most_common()))
    print("\n".join(found) or "nothing is left")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
