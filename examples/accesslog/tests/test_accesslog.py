"""Quick checks: python3 -m unittest discover -s tests"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(HERE))

from accesslog import config, entry, kinds, networks, reader, report  # noqa: E402

LINE = '10.0.0.7 - - [12/Mar/2025:06:01:30 +0000] "GET {} HTTP/1.1" 200 {} "-" "{}" {}'


def entries(*rows):
    return [entry.parse(LINE.format(*row)) for row in rows]


class Parsing(unittest.TestCase):
    def test_a_line_has_its_parts(self):
        found = entry.parse(LINE.format("/shop/1?q=2", "-", "Firefox", 31))
        self.assertEqual(("10.0.0.7", 6, "GET", "/shop/1", 200, 0, "Firefox", 31), tuple(found))

    def test_other_lines_are_none(self):
        for line in ("", "-", "GET / HTTP/1.1", LINE.format("/", 1, "x", "soon")):
            self.assertIsNone(entry.parse(line))

    def test_lines_come_whole_whatever_the_block(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "log")
            path.write_bytes("a\n\nb\u00e9\nlast".encode())
            for size in (1, 2, 3, 64):
                self.assertEqual(["a", "", "b\u00e9", "last"], list(reader.lines(path, size)))

    def test_kinds(self):
        page, asset, robot = entries(
            ("/a.b/c", 1, "Firefox", 1), ("/x/Y.CSS", 1, "Firefox", 1), ("/", 1, "a GoogleBot/2", 1)
        )
        self.assertEqual([False, True, False], [kinds.is_asset(e) for e in (page, asset, robot)])
        self.assertEqual([False, False, True], [kinds.is_robot(e) for e in (page, asset, robot)])


class Lookup(unittest.TestCase):
    rows = [(0, 9, "low"), (10, 2**31 + 5, "wide"), (2**32 - 2, 2**32 - 1, "top")]

    def test_networks_are_found_at_their_edges(self):
        table = networks.Networks(self.rows)
        for address, name in (
            ("0.0.0.0", "low"),
            ("0.0.0.9", "low"),
            ("0.0.0.10", "wide"),
            ("128.0.0.5", "wide"),
            ("128.0.0.6", "unknown"),
            ("255.255.255.254", "top"),
        ):
            self.assertEqual(name, table.find(address), address)

    def test_remembering_changes_no_answer(self):
        table = networks.Networks(self.rows)
        remembered = networks.Remembered(table, 2)
        for address in ("0.0.0.1", "1.2.3.4", "0.0.0.1", "200.0.0.1", "1.2.3.4", "0.0.0.1") * 3:
            self.assertEqual(table.find(address), remembered.find(address))
        self.assertLessEqual(len(remembered.known), 2)


class Reporting(unittest.TestCase):
    def test_a_small_log_end_to_end(self):
        rows = [
            LINE.format("/a", 100, "Firefox", 10),
            LINE.format("/a", 100, "Firefox", 500),
            LINE.format("/logo.png", 50, "Firefox", 2),
            LINE.format("/a", 10, "curl/8", 900),
            "not a line",
        ]
        with tempfile.TemporaryDirectory() as folder:
            log, table = Path(folder, "log"), Path(folder, "networks.csv")
            log.write_text("\n".join(rows) + "\n")
            table.write_text(f"{10 << 24},{11 << 24},office\n")
            done = subprocess.run(
                [sys.executable, "-m", "accesslog", str(table)],
                input=f"{log}\n{log}\n",
                cwd=HERE,
                capture_output=True,
                text=True,
                check=True,
            )
        first, second = map(json.loads, done.stdout.splitlines())
        self.assertEqual(first, second)
        self.assertEqual({"6": {"clients": 1, "busiest": first["visitors"]["6"]["busiest"]}}, first["visitors"])
        self.assertEqual([{"name": "office", "requests": 3, "share": 1.0}], first["networks"])
        self.assertEqual({"requests": 2, "fastest": 10, "median": 500, "slowest": 500}, first["pages"]["/a"])
        self.assertEqual(
            (4, 1, 1, 1, 260, 1, 1),
            tuple(
                first[key]
                for key in ("requests", "unreadable", "robots", "assets", "size", "spikes", "slow_pages")
            ),
        )
        self.assertEqual([500, 10], [row["ms"] for row in first["slowest"]])

    def test_settings_are_read(self):
        self.assertGreater(config.load()["report"]["top"], 0)
        self.assertEqual([], report.busiest({}, 3))


if __name__ == "__main__":
    unittest.main()
