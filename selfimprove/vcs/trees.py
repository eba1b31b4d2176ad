"""Trees outside git: written from a commit, handed to an agent, and read back.

`export` -> files; `agent_clone` -> files with a repository of their own; `snapshot` and `collect`
around the agent's work -> a commit in the quarantine again.
"""

from selfimprove.vcs.agent_tree import agent_clone
from selfimprove.vcs.changes import Change, Collected, Odd
from selfimprove.vcs.collect import Edited, Snapshot, collect, snapshot
from selfimprove.vcs.export import Frozen, Overlay, export, take_uncommitted

__all__ = [
    "Change",
    "Collected",
    "Edited",
    "Frozen",
    "Odd",
    "Overlay",
    "Snapshot",
    "agent_clone",
    "collect",
    "export",
    "snapshot",
    "take_uncommitted",
]
