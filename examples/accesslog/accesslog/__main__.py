"""python -m accesslog NETWORKS < LOGS: a report, one line of JSON, for each log named on stdin."""

import json
import sys

from accesslog import config, networks, report


def main(table):
    settings = config.load()
    known = networks.Remembered(
        networks.Networks.read(table), settings["lookup"]["cache_entries"]
    )
    for line in sys.stdin:
        totals = report.collect(line.rstrip("\n"), known, settings["input"]["block_size"])
        found = report.report(totals, settings["report"]["top"], settings["report"]["slow_ms"])
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
