"""Rehearses whole runs in a test: a small real target, scripted agents, everything in process.

    play = rehearse(tmp_path, planner=[...], executor=...)
    outcome = play.run(max_iterations=2)
    assert outcome.state.wins_total == 2

The target is a folder of numbers, `src/a`, `src/b` and `src/c`; its benchmark adds them up, so that
an executor that lowers one of them wins. A number may also be a word: `crash`, `hang` and `junk`
make the benchmark do so.
"""

from __future__ import annotations

import itertools
import json
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from selfimprove.agents.scripted import Script
from selfimprove.contracts.agent import AgentRequest
from selfimprove.deps import Deadline
from selfimprove.loop import Observer
from selfimprove.process import StopToken
from selfimprove.session import Asked, Outcome, take_on
from selfimprove.site import Site, Where, open_site
from selfimprove.store.layout import Layout
from selfimprove.testing.documents import a_plan
from selfimprove.testing.repository import Files, Repository, build_repository, goal_text
from selfimprove.testing.scripts import edits, position, script

BENCHMARK = r"""sum=0 parts=
for name in a b c; do
    read -r value < src/$name
    case $value in
    crash) echo "it crashed" >&2; exit 3 ;;
    hang) sleep 60 ;;
    junk) echo "no score today"; exit 0 ;;
    esac
    sum=$((sum + value)) parts="$parts, \"$name\": $value"
done
"""
SCORE = 'printf \'{"score": %d%s}\\n\' $sum "$parts"\n'
NUMBERS = {"src/a": "30\n", "src/b": "30\n", "src/c": "30\n"}
_names = itertools.count(1)


def number_plan(name: str, value: object, **fields: Any) -> Script:
    """Give a planner's reply that sets the number `src/<name>`, in a family it was assigned."""

    def plan(request: AgentRequest, _tree: Path) -> dict[str, Any]:
        change = f"set the number to {value}"
        mine = {"family": request.context["family"][0], **fields}
        return a_plan(f"src/{name}", change, **mine)

    return plan


def set_numbers(_request: AgentRequest, tree: Path) -> dict[str, Any]:
    """Carry a number plan out, as an executor."""
    for step in _request.context["plan"]["steps"]:
        (tree / step["file"]).write_text(step["change"].rsplit(" ", 1)[1] + "\n")
    return {"summary": "the number is set"}


def lower_each_round(request: AgentRequest, tree: Path) -> dict[str, Any]:
    """Plan to lower the number `src/a`, a more than b, b more than c: one of them can be merged."""
    now = int((tree / "src/a").read_text())
    return number_plan("a", now - (3 - position(request.agent_id)))(request, tree)


def lower_apart(request: AgentRequest, tree: Path) -> dict[str, Any]:
    """Plan as planner a, b or c to lower the number of that name: all of them can be merged."""
    place = position(request.agent_id)
    name = "abc"[place]
    now = int((tree / "src" / name).read_text())
    return number_plan(name, now - (3 - place))(request, tree)


@dataclass
class Rehearsal:
    """A target and its scripted agents, and whatever runs are made of them."""

    repository: Repository
    trees: Path
    spec: str
    calls_file: Path
    settings: dict[str, Any] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    """What a person was told, line by line."""

    @property
    def layout(self) -> Layout:
        """Where the run's documents are."""
        return Layout(self.repository.path / ".selfimprove/default")

    @property
    def calls(self) -> list[str]:
        """Every agent call made so far, by session, oldest first; the run's own id left out."""
        if not self.calls_file.exists():
            return []
        return [line.split("/", 1)[1] for line in self.calls_file.read_text().splitlines()]

    def site(self, **flags: Any) -> Site:
        """Open the target with these settings besides the rehearsal's own."""
        roles = ("researcher", "planner", "architect", "critic", "executor")
        given = {f"agents.{role}": self.spec for role in roles} | self.settings | flags
        return open_site(Where(self.repository.path, trees=self.trees), given)

    def run(
        self,
        observers: Sequence[Observer] = (),
        stop: StopToken | None = None,
        deadline: Deadline | None = None,
        moved: str = "",
        **flags: Any,
    ) -> Outcome:
        """Start the run or go on with it, in this process."""
        asked = Asked(
            confirm=lambda *_: "confirmed",
            observers=observers,
            deadline=deadline or Deadline(),
            say=self.said.append,
            moved=moved,
        )
        return take_on(self.site(**flags), asked, stop or StopToken())

    def document(self, path: str) -> Any:
        """Give one of the run's documents."""
        return json.loads((self.layout.root / path).read_bytes())

    def lines(self, number: int) -> list[dict[str, Any]]:
        """Give the journal's lines of one round."""
        return [json.loads(line) for line in self.layout.segment(number).read_bytes().splitlines()]

    def refs(self, *patterns: str) -> dict[str, str]:
        """Give the target's refs by name."""
        told = self.repository.git("for-each-ref", "--format=%(refname) %(objectname)", *patterns)
        return dict(line.split(" ") for line in told.splitlines())


def rehearse(
    folder: Path,
    files: Files | None = None,
    goal: str | None = None,
    settings: Mapping[str, Any] | None = None,
    score: str = SCORE,
    **roles: Any,
) -> Rehearsal:
    """Build a target below `folder` and agents that play `roles`, as `testing.scripts` has them."""
    told = goal if goal is not None else goal_text("sh bench.sh")
    everything = {**NUMBERS, "bench.sh": BENCHMARK + score, "notes.txt": "mine\n", **(files or {})}
    repository = build_repository(folder / "target", everything, told)
    calls = folder / "calls"
    roles = {"planner": lower_each_round, "executor": set_numbers} | roles
    spec = registered(counted(script(**roles).function, calls))
    play = Rehearsal(repository, folder / "trees", spec, calls)
    play.settings = {
        "number_of_agents": 2,
        "sandbox.mode": "off",
        "benchmark_load_wait": 0,
        **(settings or {}),
    }
    return play


def counted(function: Script, calls: Path) -> Script:
    """The same, with a line in a file for each call."""
    lock = threading.Lock()

    def answer(request: AgentRequest, tree: Path) -> dict[str, Any]:
        with lock, calls.open("a") as file:
            file.write(f"{request.session_id}\n")
        return function(request, tree)

    return answer


def registered(function: Script) -> str:
    """Make a function known under a spec of its own, for as long as this process lives."""
    module = ModuleType(f"selfimprove_rehearsed_{next(_names)}")
    module.play = function  # type: ignore[attr-defined]
    sys.modules[module.__name__] = module
    return f"scripted:{module.__name__}:play"


def stopping(stop: StopToken, when: Callable[[Any], bool]) -> Observer:
    """Give an observer that asks for a stop once a journal line is like that."""

    def observe(envelope: Any, _state: Any) -> None:
        if when(envelope):
            stop.set()

    return observe


__all__ = [
    "Rehearsal",
    "counted",
    "edits",
    "lower_apart",
    "lower_each_round",
    "number_plan",
    "registered",
    "rehearse",
    "set_numbers",
    "stopping",
]
