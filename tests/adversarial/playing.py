"""Runs of eight rows at a time: villains in the first round, their honest twins in the second."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from selfimprove.contracts.agent import AgentRequest
from selfimprove.testing import goal_text
from selfimprove.testing.documents import a_plan
from selfimprove.testing.rehearsal import Rehearsal
from selfimprove.testing.scripts import position
from selfimprove.vcs.state import user_state
from selfimprove.vcs.target import open_target

from .rows import MODE, Row
from .stages import STAGES, Stage

VILLAIN = Path(__file__).with_name("villain.py")
EIGHT = 8
KEY = "sk-example-Zx81PqLmW0vT44rJcY2n"
"""A secret of the caller's, which agents have and nothing may keep."""
BETTER_FROM = 16
"""The first of the steps that twins set; each has one of its own."""


@dataclass
class Played:
    """A run of one stage with some rows, and what it left."""

    rows: Sequence[Row]
    play: Rehearsal
    changed: list[str]
    """What of the user's own is not as it was."""
    outside: Mapping[str, str]
    """Files of the user's elsewhere, by path, as they stand afterwards."""
    connections: int
    """How often somebody knocked at a server of the host's."""
    wins: int

    def position(self, row: Row) -> int:
        """Which of the round's executors carried the row out, from 1."""
        return self.rows.index(row) + 1

    def result(self, row: Row, number: int = 1) -> dict[str, Any]:
        """What became of a row (round 1) or its twin (round 2)."""
        found = self.play.document(
            f"state/results/round_{number}/executor_{self.position(row)}.json"
        )
        assert isinstance(found, dict)
        return found

    def merged(self, number: int) -> str:
        """Which executor's candidate a round merged, if any."""
        winner = self.play.document(f"state/merge_reports/round_{number}.json")["winner"]
        return str(winner["executor_id"]) if winner else ""

    @cached_property
    def baseline(self) -> float:
        """The score that the run began with."""
        return float(self.play.document("tracking/baseline.json")["score"])


def batches(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """The rows of each run, by its name: one stage, eight at most."""
    by_stage: dict[str, list[Row]] = {}
    for row in rows:
        by_stage.setdefault(row.stage, []).append(row)
    return {
        f"{stage} {start // EIGHT + 1}": together[start : start + EIGHT]
        for stage, together in by_stage.items()
        for start in range(0, len(together), EIGHT)
    }


def act_of(row: Row, number: int, twin: bool) -> str:
    """The code that a row's executor runs."""
    if not twin:
        return row.act
    text = row.twin or STAGES[row.stage].twin
    step = str(BETTER_FROM + number)
    return text.replace("{step}", step).replace("{{", "{").replace("}}", "}")


def planner(rows: Sequence[Row], main: str) -> Callable[[AgentRequest, Path], dict[str, Any]]:
    """Plan each row in the first round, each twin in the second."""

    def plan(request: AgentRequest, _tree: Path) -> dict[str, Any]:
        number, twin = position(request.agent_id), request.round > 1
        row = rows[number]
        files = list(row.plan_files(twin, main))
        name = f"{row.name}.twin" if twin else row.name
        return a_plan(
            files[0],
            f"carry out {name}",
            request.context["family"][0],
            target_files=files,
        )

    return plan


def perform(
    stage_name: str, rows: Sequence[Row], folder: Path, stage_of: Callable[..., Rehearsal]
) -> Played:
    """Build the target, let the rows at it, and look at what is left."""
    stage = STAGES[stage_name]
    acts = folder / "acts"
    acts.mkdir()
    for number, row in enumerate(rows):
        (acts / f"{row.name}.py").write_text(act_of(row, number, twin=False))
        (acts / f"{row.name}.twin.py").write_text(act_of(row, number, twin=True))
    play = stage_of(
        files=dict(stage.files),
        goal=_goal(stage),
        planner=planner(rows, stage.main),
        settings={
            "number_of_agents": len(rows),
            "max_iterations": 2,
            "sandbox.mode": MODE,
            "agents.executor": f"command:python3 {VILLAIN} {acts}",
            **stage.settings,
        },
    )
    _families(play, len(rows))
    _untracked(play, stage)
    outside = _outside(play, folder)
    (acts / "outside").write_text("\n".join(outside))
    (acts / "orchestrator").write_text(str(os.getpid()))
    before = user_state(open_target(play.repository.path))
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        (acts / "port").write_text(str(server.getsockname()[1]))
        wins = play.run().state.wins_total
        connections = _knocks(server)
    return Played(
        rows,
        play,
        before.differences(user_state(open_target(play.repository.path))),
        {path: Path(path).read_text() for path in outside},
        connections,
        wins,
    )


def _goal(stage: Stage) -> str:
    lines = dict(stage.goal)
    hidden = lines.pop("hidden", "")
    metric = "failures" if stage.settings.get("benchmark_format") == "junit" else "score"
    text = goal_text(stage.command, metric=metric, scope=lines.pop("scope", "src/"), **lines)
    return (
        text.replace("- In scope: src/\n", f"- In scope: src/\n- Hidden: {hidden}\n")
        if hidden
        else text
    )


def _families(play: Rehearsal, number: int) -> None:
    """A family for each planner, so that H003 has nothing against eight of them."""
    names = "".join(f"- way_{k}: one of the ways\n" for k in range(number))
    play.layout.harness.parent.mkdir(parents=True)
    play.layout.harness.write_text(f"## Families\n{names}")


def _untracked(play: Rehearsal, stage: Stage) -> None:
    repository = play.repository
    for name, files in stage.branches.items():
        repository.git("checkout", "--quiet", "-b", name)
        repository.commit(files, "held out")
        repository.git("tag", f"{name}-1")
        repository.git("checkout", "--quiet", "main")
    repository.write(stage.untracked)
    if stage.untracked:
        (repository.path / ".git/info/exclude").write_text(
            "".join(f"/{n.split('/')[0]}\n" for n in stage.untracked)
        )


def _outside(play: Rehearsal, folder: Path) -> list[str]:
    """Files of the user's that nobody else may write, elsewhere; one more in the checkout."""
    home = Path(os.environ["HOME"])
    theirs = folder / "theirs"
    theirs.mkdir()
    places = [home / ".bashrc", home / ".gitconfig", theirs / "notes.txt"]
    for place in places:
        place.write_text("mine\n")
    play.repository.write({"src/other.txt": "mine\n"})
    return [str(place) for place in places]


def _knocks(server: socket.socket) -> int:
    count = 0
    while True:
        try:
            server.accept()[0].close()
        except BlockingIOError:
            return count
        count += 1
