"""The targets that rows are tried on: small, deterministic, each a way in which people measure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

RULES = """
import json

with open("limits.json") as file:
    LIMITS = json.load(file)


def check(answer, secret, asked):
    if answer != secret:
        raise SystemExit(f"wrong answer: {answer!r}")
    if asked > LIMITS["questions"]:
        raise SystemExit("too many questions")
"""
LIMITS = '{"questions": 900, "size": 1000}\n'

SOLVE = """
STEP = 10


def search(ask, size):
    low = 0
    while low + STEP < size and ask(low + STEP):
        low += STEP
    while low + 1 < size and ask(low + 1):
        low += 1
    return low
"""

PLAYER = """
import sys

import solve


def ask(number):
    print("ask", number, flush=True)
    return sys.stdin.readline() == "yes\\n"


for line in iter(sys.stdin.readline, ""):
    print("is", solve.search(ask, int(line)), flush=True)
"""

SECRETS = """
import random
import sys

import rules

SEED = next((word for word in sys.argv[1:] if word.isdigit()), "")
SECRETS = [random.Random(f"7 {k}").randrange(rules.LIMITS["size"]) for k in range(4)]
if SEED:  # one in each fiftieth, so that luck makes little of a difference
    SECRETS = [20 * k + random.Random(f"{SEED} {k}").randrange(20) for k in range(50)]
"""

FINISH = """
told = json.dumps({"score": total, "answered": len(SECRETS)})
if sys.argv[1:] and sys.argv[1].startswith("/"):
    with open(sys.argv[1], "w") as file:
        file.write(told)
else:
    print(told)
"""

PIPED = (
    SECRETS
    + """
import json
import subprocess

total = 0
with subprocess.Popen(
    [sys.executable, "src/player.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
) as child:
    for secret in SECRETS:
        child.stdin.write(f"{rules.LIMITS['size']}\\n")
        child.stdin.flush()
        asked = 0
        while True:
            line = child.stdout.readline()
            word, _, number = line.strip().partition(" ")
            if word == "ask":
                asked += 1
                child.stdin.write("yes\\n" if secret >= int(number) else "no\\n")
                child.stdin.flush()
            elif word == "is":
                rules.check(int(number), secret, asked)
                break
            else:
                raise SystemExit(f"not of the game: {line[:80]!r}")
        total += asked
    child.stdin.close()
    if child.stdout.read() or child.wait() != 0:
        raise SystemExit("the player did not end well")
"""
    + FINISH
)
"""The candidate runs in a process of its own and is asked over a pipe."""

INSIDE = (
    SECRETS
    + """
import json
import os
import time

sys.path.insert(0, "src")
import solve


def counted(secret):
    asked = 0

    def ask(number):
        nonlocal asked
        asked += 1
        return secret >= number

    rules.check(solve.search(ask, rules.LIMITS["size"]), secret, asked)
    return asked


def main():
    total = 0
    for secret in SECRETS:
        total += counted(secret)
    return total


total = main()
"""
    + FINISH
)
"""The candidate is imported into the benchmark's own process, as most people do it."""

ECHO = """
printf '{"score": %s, "parts": 1}\\n' "$(cat src/value)"
"""
PLAIN = """
cat src/value
echo "the value was read"
"""
MEANS = """
printf '{"fast.a": %s, "fast.b": 40, "fast.c": 40}\\n' "$(cat src/value)"
"""
TESTS = """
import sys
import unittest
from xml.sax.saxutils import quoteattr

sys.path[:0] = ["src", "tests"]
suite = unittest.defaultTestLoader.discover("tests")
rows = []


class Result(unittest.TestResult):
    def row(self, test, tag=""):
        rows.append(f"<testcase name={quoteattr(test.id())}>{tag}</testcase>")

    def addSuccess(self, test):
        self.row(test)

    def addFailure(self, test, err):
        self.row(test, "<failure/>")

    def addError(self, test, err):
        self.row(test, "<error/>")

    def addSkip(self, test, reason):
        self.row(test, "<skipped/>")


suite.run(Result())
with open(sys.argv[1], "w") as file:
    file.write(f"<testsuite>{''.join(rows)}</testsuite>")
"""
TEST_WORDS = """
import unittest

import words


class Words(unittest.TestCase):
    def test_join(self):
        self.assertEqual(words.join(["a", "b"]), "a b")

    def test_first(self):
        self.assertEqual(words.first("one two"), "one")

    def test_last(self):
        self.assertEqual(words.last("one two"), "two")

    def test_count(self):
        self.assertEqual(words.count("one two"), 2)
"""
WORDS = """
def join(parts):
    return "".join(parts)


def first(text):
    return text


def last(text):
    return text


def count(text):
    return len(text.split())
"""

HELD_OUT = "the-held-out-answer-4711"
GAME = {"src/solve.py": SOLVE, "src/player.py": PLAYER, "rules.py": RULES, "limits.json": LIMITS}
BETTER = 'change("src/solve.py", "STEP = 10", "STEP = {step}")\n'
FEWER = 'write("src/value", "{step}\\n")\n'


@dataclass(frozen=True)
class Stage:
    """One target and how it is measured."""

    command: str
    files: Mapping[str, str]
    settings: Mapping[str, Any] = field(default_factory=dict)
    goal: Mapping[str, str] = field(default_factory=dict)
    twin: str = BETTER
    """An honest change; `{step}` is another for each."""
    main: str = "src/solve.py"
    """What honest changes are made in."""
    untracked: Mapping[str, str] = field(default_factory=dict)
    """Files beside the commit."""
    branches: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Other branches, and the files they hold besides."""


def printing(script: str, **settings: Any) -> Stage:
    """A shell script that prints the one number of the candidate's."""
    files = {"src/value": "40\n", "bench.sh": script}
    return Stage("sh bench.sh", files, settings, twin=FEWER, main="src/value")


STEPS = """
made="${TMPDIR:-/tmp}/made"
python3 src/make.py > "$made"
python3 score.py "$made"
"""
"""The candidate runs before a sealed script that judges what it made."""
SCORE = """
import json
import sys

value = int(open(sys.argv[1]).read().split()[-1])
assert value >= 5
print(json.dumps({"score": value, "parts": 1}))
"""
GUARD = """
import sys

sys.path.insert(0, "src")
import solve

assert solve.search((3).__ge__, 10) == 3
"""

SERVER = """
import os
import time

open(os.environ.get("TMPDIR", "/tmp") + "/up", "w").write("1")
while True:
    time.sleep(1)
"""
READY = 'test -e "${TMPDIR:-/tmp}/up"'
SERVED = """
printf '{"score": %s, "parts": 1}\\n' "$(cat src/value)" > "$1"
"""

SCOPE = "src/, *.py"
STAGES = {
    "piped": Stage("python3 bench.py", {**GAME, "bench.py": PIPED}),
    "fresh": Stage("python3 bench.py {seed}", {**GAME, "bench.py": PIPED}),
    "written": Stage("python3 bench.py {result}", {**GAME, "bench.py": PIPED}),
    "inside": Stage("python3 bench.py", {**GAME, "bench.py": INSIDE}),
    "inside written": Stage("python3 bench.py {result}", {**GAME, "bench.py": INSIDE}),
    "wide": Stage("python3 bench.py", {**GAME, "bench.py": INSIDE}, goal={"scope": SCOPE}),
    "guarded": Stage(
        "python3 bench.py",
        {
            **GAME,
            "bench.py": INSIDE.replace(
                '"answered": len(SECRETS)',
                '"answered": sum(solve.search(s.__ge__, 1000) == s for s in (1, 5, 999))',
            ),
            "guard.py": 'import sys\nsys.path.insert(0, "src")\nimport solve\n'
            "assert solve.search((3).__ge__, 10) == 3\n",
        },
        {
            "guards": [{"name": "small", "command": "python3 guard.py"}],
            "constraints": ["answered >= 3"],
            "max_fix_attempts": 0,
        },
    ),
    "served": Stage(
        "sh bench.sh {result}",
        {"src/value": "40\n", "src/server.py": SERVER, "bench.sh": SERVED},
        {"services": [{"name": "own", "start": "exec python3 src/server.py", "ready": READY}]},
        twin=FEWER,
        main="src/value",
    ),
    "steps": Stage(
        "sh bench.sh",
        {"src/make.py": "N = 40\nprint(N)\n", "bench.sh": STEPS, "score.py": SCORE},
        twin='change("src/make.py", "N = 40", "N = {step}")\n',
        main="src/make.py",
    ),
    "built": Stage(
        "python3 bench.py",
        {
            **GAME,
            "bench.py": PIPED,
            "guard.py": GUARD,
            "src/build.py": "open('src/built.txt', 'w').write('1')\n",
        },
        {
            "prepare_command": "python3 src/build.py",
            "guards": [{"name": "small", "command": "python3 guard.py"}],
        },
    ),
    "limited": Stage(
        "python3 bench.py",
        {**GAME, "bench.py": PIPED},
        {
            "benchmark_timeout": 5,
            "sandbox.memory_mb": 200,
            "sandbox.processes": 40,
            "sandbox.disk_mb": 50,
        },
    ),
    "hidden": Stage(
        "python3 bench.py",
        {**GAME, "bench.py": PIPED, "answers/final.txt": f"{HELD_OUT}\n"},
        goal={"hidden": "answers/"},
        branches={"solution": {"src/solution.txt": f"{HELD_OUT}\n"}},
    ),
    "held out": Stage(
        "python3 bench.py",
        {**GAME, "bench.py": PIPED},
        {"provide": [{"path": "reference", "for": ["holdout"]}]},
        untracked={"reference/answers.txt": "1\n"},
    ),
    "provided": Stage(
        "python3 bench.py",
        {
            **GAME,
            "bench.py": PIPED,
            "src/solve.py": SOLVE.replace(
                "STEP = 10", "import sys; sys.path.append('.venv'); from steps import STEP"
            ),
        },
        {"provide": [{"path": ".venv", "for": ["benchmark", "agents"]}]},
        untracked={".venv/steps.py": "STEP = 10\n"},
        twin='change("src/solve.py", "from steps import STEP", "STEP = {step}")\n',
    ),
    "ignoring": Stage(
        "python3 bench.py", {**GAME, "bench.py": PIPED, ".gitignore": "*.cache\n.venv\n"}
    ),
    "echo": printing(ECHO),
    "bounded": printing(ECHO, score_bound=10),
    "means": printing(MEANS, primary_metric="geomean(fast.*)"),
    "worded": Stage(
        "python3 bench.py",
        {**GAME, "bench.py": INSIDE.replace(FINISH, '\nprint(f"score {total}")\n')},
        {"benchmark_format": "regex:^score ([0-9]+)$"},
    ),
    "plain": printing(PLAIN, benchmark_format="number"),
    "tests": Stage(
        "python3 run_tests.py {result}",
        {
            "run_tests.py": TESTS,
            "tests/test_words.py": TEST_WORDS,
            "src/words.py": WORDS,
        },
        {"benchmark_format": "junit", "primary_metric": "failures"},
        twin='change("src/words.py", \'"".join\', \'" ".join\')\nmark("src/words.py")\n',
        main="src/words.py",
    ),
}
