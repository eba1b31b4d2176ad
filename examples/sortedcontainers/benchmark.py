"""What mixed work on sorted containers costs: python3 benchmark.py [--seed N]

A worker process imports the package beside this file and is handed rounds of work: filling, adding,
discarding, looking up, slicing and walking a SortedList, a SortedDict and a SortedSet, with data of
its own for each round. This process does the same with plain lists, dicts and sets, compares the
digests of all answers, and reads the worker's CPU clock from outside.

A busy or throttled machine slows everything on it, so each round's CPU time is taken relative to a
fixed piece of work done just before and just after it on the same core. Prints one line of JSON:
`cost`, the median over the rounds of that ratio, and `ms`, the median of the time itself.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import time
from bisect import bisect_left, bisect_right, insort
from hashlib import sha256
from pathlib import Path
from statistics import median
from subprocess import PIPE

HERE = Path(__file__).resolve().parent
ROUNDS = 14
SIZE = 9000
CHANGES = 1200
LOOKUPS = 900
SLICES = 25


class Work:
    """One round's data, made from its seed; the same in both processes."""

    def __init__(self, seed):
        rng = random.Random(seed)
        wide = SIZE * 4
        self.start = [rng.randrange(wide) for _ in range(SIZE)]
        self.added = [rng.randrange(wide) for _ in range(CHANGES)]
        self.gone = [rng.choice(self.start) if rng.random() < 0.7 else rng.randrange(wide) for _ in range(CHANGES)]
        self.sought = [rng.randrange(wide) for _ in range(LOOKUPS)]
        self.places = [rng.randrange(SIZE - CHANGES) for _ in range(LOOKUPS)]
        self.spans = [sorted((rng.randrange(SIZE - CHANGES), rng.randrange(SIZE - CHANGES))) for _ in range(SLICES)]


def with_package(work):
    """The round's answers by the package."""
    from sortedcontainers import SortedDict, SortedList, SortedSet

    numbers = SortedList(work.start)
    for value in work.added:
        numbers.add(value)
    for value in work.gone:
        numbers.discard(value)
    yield len(numbers)
    yield [numbers.bisect_left(value) for value in work.sought]
    yield [numbers.bisect_right(value) for value in work.sought]
    yield [value in numbers for value in work.sought]
    yield [numbers[place] for place in work.places]
    yield [sum(numbers[low:high]) for low, high in work.spans]
    yield [sum(numbers.irange(low, low + 500)) for low in work.sought[:SLICES]]
    yield sum(numbers)

    table = SortedDict(zip(work.start, range(SIZE)))
    for value in work.added:
        table[value] = -value
    for value in work.gone:
        table.pop(value, None)
    yield [table.peekitem(place % len(table)) for place in work.places]
    yield sum(value for _, value in table.items())
    yield list(table.keys()[:100])

    seen = SortedSet(work.start)
    other = SortedSet(work.added)
    for value in work.gone:
        seen.discard(value)
    yield list(seen & other)
    yield len(seen | other)
    yield [seen[place % len(seen)] for place in work.places]


def without(work):
    """The same answers by what Python has."""
    numbers = sorted(work.start)
    for value in work.added:
        insort(numbers, value)
    for value in work.gone:
        at = bisect_left(numbers, value)
        if at < len(numbers) and numbers[at] == value:
            del numbers[at]
    yield len(numbers)
    yield [bisect_left(numbers, value) for value in work.sought]
    yield [bisect_right(numbers, value) for value in work.sought]
    known = set(numbers)
    yield [value in known for value in work.sought]
    yield [numbers[place] for place in work.places]
    yield [sum(numbers[low:high]) for low, high in work.spans]
    yield [
        sum(numbers[bisect_left(numbers, low) : bisect_right(numbers, low + 500)])
        for low in work.sought[:SLICES]
    ]
    yield sum(numbers)

    table = dict(zip(work.start, range(SIZE)))
    table.update((value, -value) for value in work.added)
    for value in work.gone:
        table.pop(value, None)
    keys = sorted(table)
    yield [(keys[place % len(keys)], table[keys[place % len(keys)]]) for place in work.places]
    yield sum(table.values())
    yield keys[:100]

    seen = set(work.start) - set(work.gone)
    yield sorted(seen & set(work.added))
    yield len(seen | set(work.added))
    ordered = sorted(seen)
    yield [ordered[place % len(ordered)] for place in work.places]


def digest(answers):
    return sha256(repr(list(answers)).encode()).hexdigest()


def worker():
    """Reads seeds; for each says `ready`, waits for a line, and answers with the digest."""
    sys.path.insert(0, str(HERE))
    for line in sys.stdin:
        work = Work(int(line))
        print("ready", flush=True)
        sys.stdin.readline()
        answers = list(with_package(work))
        print("done", flush=True)
        print(digest(answers), flush=True)


def spent(pid):
    """CPU seconds a process has used; on Linux each has a clock for that, elsewhere the wall's."""
    if sys.platform == "linux":
        return time.clock_gettime(~pid << 3 | 2)
    return time.perf_counter()


def reference():
    """The CPU milliseconds of a fixed piece of work."""
    start = spent(os.getpid())
    values = []
    for number in range(6000):
        insort(values, number * 7919 % 6007)
    return (spent(os.getpid()) - start) * 1000


def stay_on_one_core():
    """Worker and reference share a core, where the system can be told so."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def ask(process, line):
    process.stdin.write(f"{line}\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


def measure(seeds):
    """For each round the CPU milliseconds it took and its cost; stops at the first wrong answer."""
    taken = []
    command = [sys.executable, str(HERE / Path(__file__).name), "--worker"]
    with subprocess.Popen(command, cwd=HERE, stdin=PIPE, stdout=PIPE, text=True) as process:
        for seed in seeds:
            if ask(process, seed) != "ready":
                sys.exit("the worker failed")
            before = reference()
            start = spent(process.pid)
            said = ask(process, "go")
            ms = (spent(process.pid) - start) * 1000
            taken.append((ms, 2 * ms / (before + reference())))
            if said != "done" or process.stdout.readline().strip() != digest(without(Work(seed))):
                process.kill()
                sys.exit("an answer is wrong")
        process.stdin.close()
    return taken


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--worker", action="store_true")
    options = parser.parse_args()
    if options.worker:
        worker()
        return
    stay_on_one_core()
    rng = random.Random(options.seed)
    taken = measure([rng.randrange(2**31) for _ in range(ROUNDS)])
    cost = median(cost for _, cost in taken)
    ms = median(ms for ms, _ in taken)
    print(json.dumps({"cost": round(cost, 4), "ms": round(ms, 3)}))


if __name__ == "__main__":
    main()
