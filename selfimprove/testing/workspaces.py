"""Gives agents a place to work in tests: a tree of its own and a room of its own."""

from __future__ import annotations

from pathlib import Path

from selfimprove.agents.base import Workspace
from selfimprove.contracts.settings import AgentPaths, SandboxSettings
from selfimprove.process import StopToken
from selfimprove.room.room import Room, RoomSpec
from selfimprove.testing.repository import Files, Repository


def make_workspace(
    folder: Path,
    files: Files,
    *,
    writable: bool = True,
    timeout: float = 30.0,
    sandbox: SandboxSettings | None = None,
) -> Workspace:
    """Make a workspace below `folder`: `tree` with these files, and a room that shows it."""
    tree = folder / "tree"
    tree.mkdir(parents=True)
    Repository(tree).write(files)
    (folder / "target").mkdir()
    stop = StopToken()
    spec = RoomSpec(
        target_top=folder / "target",
        prefix="",
        cache=folder / "cache",
        sandbox=sandbox or SandboxSettings(),
        agent_paths=AgentPaths(),
    )
    (folder / "cache").mkdir()
    log = folder / "agent.log"
    return Workspace(tree, writable, Room(spec, stop), stop, timeout, log)
