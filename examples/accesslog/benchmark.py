"""What a report costs: python3 benchmark.py [--seed N]

Makes up a table of networks and the logs of a morning, one for each quarter of an hour, starts
`python -m accesslog` and hands it one log after the other. Every figure of every report is checked
against what went into the log, and each log is used once.

A busy or throttled machine slows everything on it, so the CPU time of a report is taken relative to
a fixed piece of work done just before and just after it on the same core. Prints one line of JSON:
`cost`, the median over the reports of that ratio, and `ms`, the median of the time itself.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from bisect import bisect_right
from collections import Counter, defaultdict, deque
from pathlib import Path
from statistics import median
from subprocess import PIPE

HERE = Path(__file__).resolve().parent
LOGS = 6
REQUESTS = 400
CLIENTS = 1000
NETWORKS = 2500
PAGES = 60
TOP = 10
SLOW_MS = 400
SPIKE_WINDOW = 40

PEOPLE = [
    "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 14_5) AppleWebKit/605.1.15 Version/17.5 Safari/605.1.15",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/126.0.0.0 Safari/537.36",
]
ROBOTS = [
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
    "curl/8.5.0",
]
ASSETS = ["css", "js", "png", "svg", "woff2", "ico"]
WORDS = ["about", "basket", "blog", "help", "item", "news", "search", "shop", "team", "topic"]


def dotted(value):
    return ".".join(str(value >> shift & 255) for shift in (24, 16, 8, 0))


class World:
    """Networks, the clients that live in them, and the pages they ask for."""

    def __init__(self, rng):
        edges = sorted(rng.sample(range(1 << 24, 224 << 24), 2 * NETWORKS))
        self.networks = [
            (first, last, f"AS{60000 + i}")
            for i, (first, last) in enumerate(zip(edges[::2], edges[1::2]))
        ]
        addresses = []
        for first, last, _ in rng.choices(self.networks, k=CLIENTS):
            addresses.append(rng.randint(first, last))
        for first, last, _ in rng.sample(self.networks, 20):
            addresses += [first, last, last + 1]
        rng.shuffle(addresses)
        self.clients = {dotted(address): self.network(address) for address in addresses}
        self.pages = {}
        while len(self.pages) < PAGES:
            path = "/" + "/".join(rng.choices(WORDS, k=rng.randint(1, 3)))
            self.pages[f"{path}/{rng.randint(1, 99)}"] = rng.randint(20, 300)

    def network(self, address):
        """The name of the network that an address is in."""
        at = bisect_right(self.networks, address, key=lambda row: row[0]) - 1
        if at >= 0 and address <= self.networks[at][1]:
            return self.networks[at][2]
        return "unknown"

    def write_networks(self, path):
        path.write_text("".join(f"{first},{last},{name}\n" for first, last, name in self.networks))

    def write_log(self, path, rng, hour):
        """Write a log; returns what a report of it must say."""
        truth = Truth()
        clients, pages = list(self.clients), list(self.pages)
        asking = rng.choices(clients, [1 / (rank + 60) for rank in range(len(clients))], k=REQUESTS)
        with open(path, "w") as log:
            for client in asking:
                if rng.random() < 0.004:
                    log.write(rng.choice(["-\n", "GET / HTTP/1.1\n", "\n", "x 12\n"]))
                    truth.counts["unreadable"] += 1
                    continue
                chance = rng.random()
                robot, asset = chance < 0.12, 0.12 <= chance < 0.5
                path = rng.choice(pages)
                ms = round(self.pages[path] * rng.lognormvariate(0, 0.4))
                if asset:
                    path = f"/static/{rng.randrange(10**6):x}.{rng.choice(ASSETS)}"
                query = f"?q={rng.randrange(1000)}" if chance > 0.9 else ""
                status = 200 if rng.random() < 0.9 else rng.choice([304, 304, 404, 500])
                size = rng.randrange(200, 60000) if status == 200 else 0
                log.write(
                    f"{client} - - [12/Mar/2025:{hour:02}:{rng.randrange(15):02}:30 +0000] "
                    f'"GET {path}{query} HTTP/1.1" {status} {size or "-"} "-" '
                    f'"{rng.choice(ROBOTS if robot else PEOPLE)}" {ms}\n'
                )
                truth.counts["requests"] += 1
                truth.counts["size"] += size
                truth.statuses[status] += 1
                if robot:
                    truth.counts["robots"] += 1
                    continue
                truth.networks[self.clients[client]] += 1
                truth.visitors[hour][client] += 1
                if asset:
                    truth.counts["assets"] += 1
                else:
                    truth.page(path, ms)
        return truth.report()


class Truth:
    """What a report must say, counted while the log is written."""

    def __init__(self):
        self.counts = Counter()
        self.statuses = Counter()
        self.networks = Counter()
        self.visitors = defaultdict(Counter)
        self.pages = defaultdict(list)
        self.recent = deque(maxlen=SPIKE_WINDOW)

    def page(self, path, ms):
        self.counts["spikes"] += bool(self.recent) and ms > max(self.recent)
        self.recent.append(ms)
        self.pages[path].append(ms)

    def report(self):
        slowest = sorted(((ms, path) for path in self.pages for ms in self.pages[path]), reverse=True)
        counted = ("requests", "unreadable", "robots", "assets", "size", "spikes")
        return {
            **{name: self.counts[name] for name in counted},
            "statuses": {str(status): self.statuses[status] for status in sorted(self.statuses)},
            "networks": self.busiest(self.networks),
            "visitors": {
                str(hour): {"clients": len(seen), "busiest": self.busiest(seen)}
                for hour, seen in sorted(self.visitors.items())
            },
            "pages": {path: self.times(sorted(self.pages[path])) for path in sorted(self.pages)},
            "slow_pages": sum(max(taken) > SLOW_MS for taken in self.pages.values()),
            "slowest": [{"ms": ms, "path": path} for ms, path in slowest[:5]],
        }

    @staticmethod
    def times(taken):
        return {
            "requests": len(taken),
            "fastest": taken[0],
            "median": taken[len(taken) // 2],
            "slowest": taken[-1],
        }

    @staticmethod
    def busiest(counts):
        total = counts.total()
        rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))[:TOP]
        return [{"name": name, "requests": n, "share": round(n / total, 6)} for name, n in rows]


def spent(pid):
    """CPU seconds a process has used; on Linux each has a clock for that, elsewhere the wall's."""
    if sys.platform == "linux":
        return time.clock_gettime(~pid << 3 | 2)
    return time.perf_counter()


def reference(rows):
    """The CPU milliseconds of a fixed piece of work: a few walks over the table, and some counting."""
    start = spent(os.getpid())
    counts = {}
    for number in range(5000):
        key = str(number * 7919 % 1009)
        counts[key] = counts.get(key, 0) + len(key)
    for value in range(10):
        counts[value] = len([name for first, last, name in rows if first <= value <= last])
    return (spent(os.getpid()) - start) * 1000


def stay_on_one_core():
    """Program and reference share a core, where the system can be told so."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def measure(world, table, logs):
    """For each report the CPU milliseconds it took and its cost; stops at the first that is wrong."""
    command = [sys.executable, "-m", "accesslog", str(table)]
    taken = []
    with subprocess.Popen(command, cwd=HERE, stdin=PIPE, stdout=PIPE, text=True) as program:
        for path, truth in logs:
            before = reference(world.networks)
            start = spent(program.pid)
            program.stdin.write(f"{path}\n")
            program.stdin.flush()
            answer = program.stdout.readline()
            ms = (spent(program.pid) - start) * 1000
            taken.append((ms, 2 * ms / (before + reference(world.networks))))
            if not answer or json.loads(answer) != truth:
                program.kill()
                sys.exit(f"the report of {path} is wrong")
        program.stdin.close()
    if program.returncode != 0:
        sys.exit(f"accesslog exited with {program.returncode}")
    return taken


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    rng = random.Random(parser.parse_args().seed)
    stay_on_one_core()
    world = World(rng)
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "networks.csv")
        world.write_networks(table)
        logs = []
        for number in range(LOGS):
            path = Path(folder, f"access-{number:02}.log")
            logs.append((path, world.write_log(path, rng, 6 + number // 4)))
        taken = measure(world, table, logs)
    cost = median(cost for _, cost in taken)
    ms = median(ms for ms, _ in taken)
    print(json.dumps({"cost": round(cost, 4), "ms": round(ms, 3)}))


if __name__ == "__main__":
    main()
