"""Kills a run at every point there is, resumes it, and compares its end with an undisturbed one.

    python -m selfimprove.testing.kills FOLDER              every point
    python -m selfimprove.testing.kills FOLDER --sample 60  some of each kind
    python -m selfimprove.testing.kills FOLDER --part 1/2   every other one, for a second core
    python -m selfimprove.testing.kills FOLDER --criticised executors' changes are criticised

The run is one of two rounds with three scripted executors, from an empty repository to its end.
Each try is two real processes, forked from this one: the first dies by SIGKILL at its point, the
second goes on. The answer is one line of JSON; the exit code is 1 where anything differs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import secrets
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from selfimprove import deathwatch
from selfimprove.agents.replies import KeptReply
from selfimprove.proctree import become_reaper
from selfimprove.store.files import json_bytes
from selfimprove.store.rebuild import findings
from selfimprove.store.record import load_state
from selfimprove.testing.compare import settled
from selfimprove.testing.faults import Killer, Listener, Recorder, installed, sample
from selfimprove.testing.rehearsal import Rehearsal, number_plan, rehearse, set_numbers
from selfimprove.testing.scripts import position
from selfimprove.vcs.state import user_state
from selfimprove.vcs.target import open_target

ROUNDS, EXECUTORS = 2, 3
LEFT_S = 2.0
"""What a dead run had started may take this long to end by itself."""


@dataclass
class Try:
    """What came of one kill."""

    point: str
    died: bool
    """False where the point was not reached: threads took another turn."""
    wrong: list[str] = field(default_factory=list)
    repeated: int = 0
    """Agent calls made once more, because their reply was lost."""


def _no_sync(fd: Any) -> None:
    """Wait for no disk."""


def _same_token(nbytes: int | None = None) -> str:
    """Give a seed that is no secret."""
    return "00" * (nbytes or 16)


def planned(request: Any, tree: Path) -> dict[str, Any]:
    """Plan as planner a and b to lower a number of one's own, as c to raise one."""
    place = position(request.agent_id)
    now = int((tree / "src" / "abc"[place]).read_text())
    return number_plan("abc"[place], now + (-2, -1, 1)[place])(request, tree)


def bolder(request: Any, tree: Path) -> dict[str, Any]:
    """Carry a number plan out, and for one's critics by one less."""
    answer = set_numbers(request, tree)
    for step in request.context["plan"]["steps"]:
        place = tree / step["file"]
        place.write_text(f"{int(place.read_text()) - request.context.get('revision', 0)}\n")
    return answer


def wants_bolder(request: Any, _tree: Path) -> dict[str, Any]:
    """Like every plan, and of changes the first executor's and those that were revised."""
    asked = request.session_id
    content = "change" not in request.context or "executor_1" in asked or "revision" in asked
    return {"score": 1.0} if content else {"score": 0.5, "issues": ["be bolder"]}


def staged(folder: Path, criticised: bool) -> Rehearsal:
    """Build the target and its agents."""
    settings = {"number_of_agents": EXECUTORS, "significance.closing_pairs": 2}
    if not criticised:
        return rehearse(folder / "play", planner=planned, settings=settings)
    return rehearse(
        folder / "play",
        planner=planned,
        executor=bolder,
        critic=wants_bolder,
        settings={**settings, "critique_execution": True},
    )


class Stand:
    """The run, as it is before it begins and as it ends when nobody disturbs it."""

    def __init__(self, folder: Path, *, criticised: bool = False) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("play", "as it was", "machine"):
            shutil.rmtree(folder / name, ignore_errors=True)
        tempfile.tempdir = str(folder / "machine")  # a measuring slot of its own
        Path(tempfile.tempdir).mkdir(exist_ok=True)
        os.fsync = _no_sync  # a killed process takes nothing with it that it has written
        secrets.token_hex = _same_token  # which of a pair is measured first follows from it
        become_reaper()
        self.folder = folder
        self.play = staged(folder, criticised)
        self._saved = folder / "as it was"
        shutil.copytree(folder / "play", self._saved, symlinks=True)
        self.user = self._users()
        self.points = self._recorded()
        self.wanted = settled(self.play)
        self.calls = Counter(self.play.calls)

    def _recorded(self) -> list[str]:
        notes = self.folder / "points.json"
        recorder = Recorder()
        code = self._process(recorder, lambda: notes.write_bytes(json_bytes(recorder.points)))
        assert code == 0, f"the undisturbed run ended with {code}"
        points: list[str] = json.loads(notes.read_bytes())
        return points

    def _process(self, listener: Listener | None, then: Callable[[], object] = int) -> int:
        """Run to the end in a process of its own; gives its exit code, negative for a signal."""
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            code = 70
            try:
                self._play(listener)
                then()
                code = 0
            finally:
                if code:
                    traceback.print_exception(sys.exception())
                sys.stderr.flush()
                os._exit(code)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def _play(self, listener: Listener | None) -> None:
        if listener is None:
            self.play.run(max_iterations=ROUNDS)
            return
        with installed(listener):
            self.play.run(max_iterations=ROUNDS)

    def _users(self) -> Any:
        """What is the user's: a copy has other inodes and the same times."""
        found = user_state(open_target(self.play.repository.path))
        return {k: v for k, v in vars(found).items() if k != "tree"}, self._work_tree()

    def _work_tree(self) -> dict[str, bytes]:
        top = self.play.repository.path
        paths = (path for path in top.rglob("*") if path.is_file())
        named = {path.relative_to(top).as_posix(): path for path in paths}
        ours = (".git/", ".selfimprove/")
        return {name: p.read_bytes() for name, p in named.items() if not name.startswith(ours)}

    def start_over(self) -> None:
        """The target as it was before the run."""
        shutil.rmtree(self.folder / "play")
        shutil.copytree(self._saved, self.folder / "play", symlinks=True)

    def kill_at(self, point: str) -> Try:
        """Run until that point, die there, go on, and look at what came of it."""
        self.start_over()
        code = self._process(Killer(point))
        done = Try(point, died=code == -signal.SIGKILL)
        if not done.died and code != 0:
            done.wrong.append(f"before it was killed, it ended with {code}")
        kept, before = set(self._kept()), Counter(self.play.calls)
        if done.died:
            self._resume(done)
        self._compare(done)
        again = Counter(self.play.calls) - before
        done.wrong += [
            f"asked again, though its reply was kept: {call}" for call in again.keys() & kept
        ]
        self._count(done)
        return done

    def _resume(self, done: Try) -> None:
        code = self._process(None)
        if code != 0:
            done.wrong.append(f"the resumed run ended with {code}")
        if left := orphans():
            done.wrong.append(f"left running: {', '.join(left)}")

    def _compare(self, done: Try) -> None:
        found = settled(self.play)
        names = sorted({*found, *self.wanted})
        done.wrong += [f"differs: {k}" for k in names if found.get(k) != self.wanted.get(k)]
        done.wrong += findings(self.play.layout)
        if self._users() != self.user:
            done.wrong.append("something of the user's was changed")

    def _count(self, done: Try) -> None:
        """Calls made more than once were in flight, no more than there can be, and are counted."""
        more = Counter(self.play.calls) - self.calls
        done.repeated = more.total()
        if more.total() > EXECUTORS or any(many > 1 for many in more.values()):
            done.wrong.append(f"asked more often than in flight: {dict(more)}")
        counted = load_state(self.play.layout).repeated_calls
        if counted < done.repeated:
            done.wrong.append(f"{done.repeated} calls were made again, {counted} are counted")
        if missing := self.calls - Counter(self.play.calls):
            done.wrong.append(f"never asked: {sorted(missing)}")

    def _kept(self) -> Iterator[str]:
        for file in self.play.layout.replies.glob("*.json"):
            yield KeptReply.parse_json(file.read_bytes(), str(file)).session_id.split("/", 1)[1]


def orphans() -> list[str]:
    """Living processes that a dead run left: they become this process's own."""
    deadline, mine = time.monotonic() + LEFT_S, deathwatch.watcher()
    while True:
        left = []
        for child in psutil.Process().children(recursive=True):
            try:
                if child.pid == mine:
                    continue
                if child.status() == psutil.STATUS_ZOMBIE:
                    os.waitpid(child.pid, os.WNOHANG)
                else:
                    left.append(" ".join(child.cmdline())[:80])
            except (psutil.Error, ChildProcessError):
                continue
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.01)


def killed_everywhere(stand: Stand, points: Sequence[str]) -> dict[str, Any]:
    """Kill at each of the points; what came of it, as a document.

    What was tried is kept beside the run, so that a series of hours can be gone on with.
    """
    began = time.monotonic()
    notes = stand.folder / "tries.jsonl"
    lines = notes.read_text().splitlines() if notes.exists() else []
    known = {each.point: each for each in (Try(**json.loads(line)) for line in lines)}
    tries = []
    for point in points:
        done = known.get(point)
        if done is None or done.wrong:
            done = stand.kill_at(point)
            with notes.open("a") as file:
                file.write(json.dumps(vars(done)) + "\n")
        tries.append(done)
    return {
        "points": len(stand.points),
        "tried": len(tries),
        "not_reached": [each.point for each in tries if not each.died],
        "repeated_calls": sum(each.repeated for each in tries),
        "seconds": round(time.monotonic() - began, 1),
        "wrong": [vars(each) for each in tries if each.wrong],
    }


def main() -> int:
    """Read the command line, kill, and print the answer."""
    parser = argparse.ArgumentParser(prog="python -m selfimprove.testing.kills")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--point", action="append", default=[])
    parser.add_argument("--criticised", action="store_true")
    given = parser.parse_args()
    part, parts = map(int, given.part.split("/"))
    stand = Stand(given.folder.absolute(), criticised=given.criticised)
    points = sample(stand.points, given.sample) if given.sample else stand.points
    mine = given.point or points[part - 1 :: parts]
    random.Random(1).shuffle(mine)  # a series that is cut short has seen something of everything
    answer = killed_everywhere(stand, mine)
    print(json.dumps(answer), flush=True)  # noqa: T201
    return 1 if answer["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
