"""Counts over a log, and the report made of them."""

from collections import defaultdict, deque

from accesslog import entry, kinds, reader

SLOWEST_KEPT = 5
# A request slower than all of this many before it is a spike.
SPIKE_WINDOW = 40


class Totals:
    def __init__(self):
        self.requests = 0
        self.unreadable = 0
        self.robots = 0
        self.assets = 0
        self.size = 0
        self.spikes = 0
        self.networks = defaultdict(int)
        self.statuses = defaultdict(int)
        self.visitors = defaultdict(dict)
        self.pages = defaultdict(list)
        self.recent = deque(maxlen=SPIKE_WINDOW)
        self.slowest = []

    def add(self, found, network):
        self.requests += 1
        self.size += found.size
        self.statuses[found.status] += 1
        if kinds.is_robot(found):
            self.robots += 1
            return
        self.networks[network] += 1
        visitors = self.visitors[found.hour]
        if found.client in list(visitors.keys()):
            visitors[found.client] += 1
        else:
            visitors[found.client] = 1
        if kinds.is_asset(found):
            self.assets += 1
            return
        self.pages[found.path].append(found.ms)
        self.slowest.append((found.ms, found.path))
        if self.recent and found.ms > sorted(self.recent)[-1]:
            self.spikes += 1
        self.recent.append(found.ms)


def collect(path, networks, block_size):
    totals = Totals()
    for line in reader.lines(path, block_size):
        found = entry.parse(line)
        if found is None:
            totals.unreadable += 1
            continue
        totals.add(found, networks.find(found.client))
    return totals


def times(values):
    return {
        "requests": len(values),
        "fastest": sorted(values)[0],
        "median": sorted(values)[len(values) // 2],
        "slowest": sorted(values)[-1],
    }


def busiest(counts, top):
    """The `top` largest counts, each with its share of all."""
    rows = []
    for name, count in counts.items():
        share = count / sum(counts.values())
        rows.append((count, name, round(share, 6)))
    rows.sort(key=lambda row: (-row[0], row[1]))
    return [{"name": name, "requests": count, "share": share} for count, name, share in rows[:top]]


def visits(visitors, top):
    """For each hour how many clients came, and the busiest of them."""
    hours = {}
    for hour in sorted(list(visitors.keys())):
        hours[str(hour)] = {
            "clients": len(visitors[hour]),
            "busiest": busiest(visitors[hour], top),
        }
    return hours


def report(totals, top, slow_ms):
    pages = {}
    for path in sorted(list(totals.pages.keys())):
        pages[path] = times(totals.pages[path])
    slowest = sorted(totals.slowest, reverse=True)[:SLOWEST_KEPT]
    return {
        "requests": totals.requests,
        "unreadable": totals.unreadable,
        "robots": totals.robots,
        "assets": totals.assets,
        "size": totals.size,
        "spikes": totals.spikes,
        "statuses": {str(status): totals.statuses[status] for status in sorted(totals.statuses)},
        "networks": busiest(totals.networks, top),
        "visitors": visits(totals.visitors, top),
        "pages": pages,
        "slow_pages": len([path for path in pages if pages[path]["slowest"] > slow_ms]),
        "slowest": [{"ms": ms, "path": path} for ms, path in slowest],
    }
