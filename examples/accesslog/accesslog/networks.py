"""Which network an address belongs to.

The table is a CSV file of `first,last,name`, the addresses as integers. Networks are filed under
the leading bits of their addresses, so that a search looks at a few of them only.
"""

import csv
from collections import OrderedDict

INDEX_BITS = 4

UNKNOWN = "unknown"


def number(address):
    """An IPv4 address as an integer."""
    value = 0
    for part in address.split("."):
        value = value * 256 + int(part)
    return value


class Networks:
    def __init__(self, rows, index_bits=INDEX_BITS):
        self.shift = 32 - index_bits
        self.index = [[] for _ in range(1 << index_bits)]
        for first, last, name in rows:
            for slot in range(first >> self.shift, (last >> self.shift) + 1):
                self.index[slot].append((first, last, name))

    @classmethod
    def read(cls, path):
        rows = []
        with open(path, newline="") as file:
            for row in csv.reader(file):
                rows.append((int(row[0]), int(row[1]), row[2]))
        return cls(rows)

    def find(self, address):
        value = number(address)
        for first, last, name in self.index[value >> self.shift]:
            if first <= value <= last:
                return name
        return UNKNOWN


class Remembered:
    """The last addresses looked up, and their networks."""

    def __init__(self, networks, entries):
        self.networks = networks
        self.entries = entries
        self.known = OrderedDict()

    def find(self, address):
        if address in self.known.keys():
            self.known.move_to_end(address)
            return self.known[address]
        name = self.networks.find(address)
        self.known[address] = name
        if len(self.known) > self.entries:
            self.known.popitem(last=False)
        return name
