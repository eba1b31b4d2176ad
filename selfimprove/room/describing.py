"""What jobs see and may use, in words: for the trust screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from selfimprove.room.network import network_in_words

if TYPE_CHECKING:
    from selfimprove.room.room import Room

OPEN_WITHOUT_MOUNTS = (
    "a candidate can use the network, read your files, and write your checkout and what is provided"
)


def describe(room: Room) -> list[str]:
    """A line each."""
    spec, sandbox, provided = room.spec, room.spec.sandbox, room.provided.paths
    why = f" ({room.probe.reason})" if room.probe.reason else ""
    shown = (f"{path} for {', '.join(one.for_)}" for path, one in provided.items())
    named = (*spec.agent_paths.read, *(f"{path} (writable)" for path in spec.agent_paths.write))
    rows = {
        "isolation": f"{room.level}{why}",
        "tree": f"{spec.target_top} shows the candidate, never your checkout",
        "read-only": ", ".join(map(str, room.visible.shown)) or "the system alone",
        "provided": "; ".join(shown) or "nothing",
        "network": (
            f"benchmarks: {network_in_words(sandbox.network)}; agents and deps_command: host"
        ),
        "variables": ", ".join(spec.env_names) or "none of yours but PATH and toolchain homes",
        "agents": f"your environment; paths: {', '.join(named) or 'none more'}",
    }
    if room.probe.bwrap is None:
        rows["not stopped at this level"] = OPEN_WITHOUT_MOUNTS
    limits = {name: getattr(sandbox, name) for name in ("memory_mb", "processes", "disk_mb")}
    if any(limits.values()):
        rows["limits"] = ", ".join(f"{name} {value}" for name, value in limits.items() if value)
    if spec.services:
        rows["services"] = ", ".join(one.name for one in spec.services)
    return [f"{name}: {value}" for name, value in rows.items()]
