"""Kills a longer run at random moments, again and again, and compares its end.

    python -m selfimprove.testing.random_kills FOLDER --kills 100 --seed 1

The run is one of the real command line: two executors and every other role are programs of their
own, started anew for each call. Each try is killed by SIGKILL after a random time, and the next one
goes on; what is left running is looked for each time. The last try is let end. The answer is one
line of JSON; the exit code is 1 where anything differs from a run that nobody disturbed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from selfimprove.places import FOLDER
from selfimprove.process import base_env, start_detached
from selfimprove.proctree import become_reaper
from selfimprove.store.layout import Layout
from selfimprove.store.rebuild import findings
from selfimprove.store.record import load_state
from selfimprove.testing.compare import VOLATILE, files, stripped
from selfimprove.testing.documents import a_plan
from selfimprove.testing.kills import orphans
from selfimprove.testing.rehearsal import BENCHMARK, NUMBERS, SCORE
from selfimprove.testing.repository import Repository, build_repository, goal_text

AGENT = '''#!{python}
"""Plays every role: planners lower a number of their own, executors set it; each takes a moment."""
import json, pathlib, subprocess, sys, time

request = json.load(sys.stdin)
with open({calls!r}, "a") as file:
    file.write(request["session_id"].split("/", 1)[1] + "\\n")
role, context = request["role"], request["context"]
subprocess.run(["sleep", "0.1"])
if role == "researcher":
    answer = {{"repo_analysis_summary": "numbers", "ideas": []}}
elif role == "planner":
    name = "ab"[ord(request["agent_id"][-1]) - ord("a")]
    now = int(pathlib.Path("src/" + name).read_text())
    answer = {plan}
    answer["approach_family"] = context["family"][0]
    answer["target_files"] = ["src/" + name]
    change = f"set the number to {{now - 1 - (name == 'a')}}"
    answer["steps"] = [{{"step": 1, "file": "src/" + name, "change": change}}]
elif role == "executor":
    for step in context["plan"]["steps"]:
        pathlib.Path(step["file"]).write_text(step["change"].rsplit(" ", 1)[1] + "\\n")
    answer = {{"summary": "set"}}
elif role == "critic":
    answer = {{"score": 1.0, "issues": [], "summary": "fine"}}
else:
    answer = {{"verdict": "approve", "feedback": "", "structural_concerns": []}}
print(json.dumps(answer))
'''


@dataclass
class Play:
    """A target, its agent, and the command line over them."""

    folder: Path
    rounds: int
    repository: Repository = field(init=False)
    killed: int = 0

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True)
        self.calls_file = self.folder / "calls"
        agent = self.folder / "agent"
        plan = repr(a_plan("src/a", "set the number to 1"))
        made = AGENT.format(python=sys.executable, calls=str(self.calls_file), plan=plan)
        agent.write_text(made)
        agent.chmod(0o755)
        numbers = dict.fromkeys(NUMBERS, "300\n")
        everything = {**numbers, "bench.sh": BENCHMARK + "sleep 0.05\n" + SCORE}
        self.repository = build_repository(
            self.folder / "target", everything, goal_text("sh bench.sh")
        )
        self.layout = Layout(self.repository.path / FOLDER / "default")
        (self.folder / "tmp").mkdir()
        settings = {
            "number_of_agents": 2,
            "sandbox": {"mode": "off"},
            "benchmark_load_wait": 0,
            "plateau_window": 1000,
            "significance": {"closing_pairs": 2},
        }
        self.layout.settings.parent.mkdir(parents=True)
        self.layout.settings.write_text(json.dumps(settings))

    def started(self) -> int:
        """Start or resume the run; gives its process."""
        env = base_env() | {"TMPDIR": str(self.folder / "tmp"), "HOME": str(self.folder)}
        words = ["resume" if self.layout.journal.is_dir() else "run", str(self.repository.path)]
        words += ["--yes", "--json", "--max-iterations", str(self.rounds)]
        words += [
            "--agent",
            f"command:{self.folder / 'agent'}",
            "--trees",
            str(self.folder / "trees"),
        ]
        program = (sys.executable, "-m", "selfimprove", *words)
        return start_detached(program, env, self.folder / "log")

    def settled(self) -> dict[str, Any]:
        """What the run came to, without what differs between two runs that did the same."""
        found: dict[str, Any] = {}
        for path, data in files(self.layout).items():
            if not path.startswith("state/run.json") and not path.endswith("jsonl"):
                found[path] = stripped(json.loads(data), VOLATILE | {"candidate_first"})
        tip = "refs/heads/improve/lower_the_score"
        found["tree"] = self.repository.git("rev-parse", f"{tip}^{{tree}}")
        found["refs"] = self.repository.git(
            "for-each-ref", "--format=%(refname)", "refs/heads", "refs/tags"
        )
        return found

    @property
    def calls(self) -> Counter[str]:
        """How often each agent was asked each thing."""
        text = self.calls_file.read_text() if self.calls_file.exists() else ""
        return Counter(text.splitlines())


def ended(process: int, within: float) -> int | None:
    """Wait so long for a process; its exit code, None where it goes on."""
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        pid, status = os.waitpid(process, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    return None


def disturbed(play: Play, kills: int, chance: random.Random) -> Iterator[str]:
    """Kill it so often; yields what is wrong on the way. The last try is let end.

    It may be at its end before: then it is not killed any more.
    """
    for number in range(1, kills + 1):
        process = play.started()
        code = ended(process, chance.uniform(0.2, 4.0))
        if code is not None:
            if code != 0:
                yield f"kill {number}: it ended by itself with {code}"
            return
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        play.killed = number
        if left := orphans():
            yield f"kill {number}: left running: {', '.join(left)}"
    if (code := ended(play.started(), 600.0)) != 0:
        yield f"the last try ended with {code}"


def main() -> int:
    """Read the command line, disturb, compare, and print the answer."""
    parser = argparse.ArgumentParser(prog="python -m selfimprove.testing.random_kills")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=80)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    folder = given.folder.absolute()
    tempfile.tempdir = str(folder)
    folder.mkdir(parents=True, exist_ok=True)
    become_reaper()
    began = time.monotonic()
    plain, play = Play(folder / "plain", given.rounds), Play(folder / "killed", given.rounds)
    code = ended(plain.started(), 3600.0)
    wrong = [] if code == 0 else [f"the undisturbed run ended with {code}"]
    wrong += disturbed(play, given.kills, random.Random(given.seed))
    mine, wanted = play.settled(), plain.settled()
    wrong += [f"differs: {k}" for k in sorted({*mine, *wanted}) if mine.get(k) != wanted.get(k)]
    wrong += findings(play.layout)
    more = (play.calls - plain.calls).total()
    counted = load_state(play.layout).repeated_calls
    if more > counted:
        wrong.append(f"{more} calls were made again, {counted} are counted")
    took = round(time.monotonic() - began, 1)
    answer = {"rounds": given.rounds, "killed": play.killed, "repeated_calls": more}
    print(json.dumps({**answer, "seconds": took, "wrong": wrong}), flush=True)  # noqa: T201
    if not wrong:
        shutil.rmtree(folder)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
