"""One line of a log in the combined format, with the time it took at the end."""

import re
from collections import namedtuple

LINE = (
    r'(?P<client>\S+) \S+ \S+ \[(?P<time>[^\]]+)\] "(?P<method>\S+) (?P<path>\S+) [^"]*" '
    r'(?P<status>\d+) (?P<size>\d+|-) "[^"]*" "(?P<agent>[^"]*)" (?P<ms>\d+)'
)

Entry = namedtuple("Entry", "client hour method path status size agent ms")


def parse(line):
    """The entry in a line, or None where it is not one."""
    match = re.match(LINE, line)
    if match is None:
        return None
    fields = match.groupdict()
    if fields["size"] == "-":
        size = 0
    else:
        size = int(fields["size"])
    return Entry(
        client=fields["client"],
        hour=int(fields["time"].split(":")[1]),
        method=fields["method"],
        path=fields["path"].split("?")[0],
        status=int(fields["status"]),
        size=size,
        agent=fields["agent"],
        ms=int(fields["ms"]),
    )
