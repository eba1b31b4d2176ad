"""What a command agent sees besides the system: the program it names, and `agent_paths`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from selfimprove.contracts.settings import AgentPaths
from selfimprove.errors import ConfigError
from selfimprove.room.isolation import Mount
from selfimprove.room.visible import SYSTEM, Closure, is_below, outermost, secrets_below

KERNEL = (Path("/dev"), Path("/proc"), Path("/sys"))
"""Not files a program could be made of; the room has its own."""


def named_paths(paths: list[str], home: Path, top: Path) -> tuple[Path, ...]:
    """Paths as people write them: absolute, below `~`, or relative to the target."""
    return tuple(
        home / path[2:] if path.startswith("~/") else home if path == "~" else top / path
        for path in paths
    )


def check_agent_paths(paths: AgentPaths, home: Path, top: Path) -> None:
    """Refuse to let agents write where only the user may."""
    for path in named_paths(paths.write, home, top):
        if is_below(path, [top]) or is_below(top, [path]):
            raise ConfigError(
                f"agent_paths.write: {path} would let agents write the target's own checkout",
                "name a folder outside the repository",
            )


def program_paths(command: str | tuple[str, ...], home: Path, top: Path) -> Iterator[Path]:
    """Files and folders among a command's words, wherever they lie."""
    try:
        words = shlex.split(command) if isinstance(command, str) else list(command)
    except ValueError:
        words = []  # the shell will say what is wrong with it
    for word in words:
        place = word.replace("${HOME}", str(home)).replace("$HOME", str(home))
        place = str(home) + place[1:] if place.startswith("~/") else place
        path = top / place
        if not _is_there(path) or ("/" not in place and not path.is_file()):
            continue
        if is_below(path, KERNEL):
            continue  # mounted, /dev/null would be a device no longer
        if path not in (home, *home.parents, top, *top.parents):
            yield path


def _is_there(path: Path) -> bool:
    try:
        return path.is_file() or path.is_dir()
    except (OSError, ValueError):
        return False  # too long for a path, or not one


class AgentView:
    """Finds the mounts of agents, over those every job has; once for each program."""

    def __init__(self, paths: AgentPaths, home: Path, hidden: tuple[Path, ...]) -> None:
        """`hidden` begins with the target's top."""
        self._paths, self._home, self._hidden = paths, home, hidden
        self._known: dict[tuple[Path, ...], list[Mount]] = {}

    def mounts(self, command: str | tuple[str, ...]) -> list[Mount]:
        """What an agent's command needs to be seen; looked for again where some of it is gone."""
        program = tuple(program_paths(command, self._home, self._hidden[0]))
        known = self._known.get(program)
        if known is None or not all(one.source is None or one.source.exists() for one in known):
            known = self._known[program] = self._found(program)
        return known

    def _found(self, named: Sequence[Path]) -> list[Mount]:
        home, top = self._home, self._hidden[0]
        closure = Closure(home, self._hidden)
        program = [path for path in named if not is_below(path, (*self._hidden, *SYSTEM))]
        for path in program:
            if path.is_file():
                closure.add_interpreter(path)
        read = [path for path in named_paths(self._paths.read, home, top) if path.exists()]
        write = [path for path in named_paths(self._paths.write, home, top) if path.exists()]
        shown = outermost([*closure.shown, *program, *read, *write])
        masks = secrets_below(shown, home, (*program, *read, *write))
        return [
            *(Mount(path, "read", path) for path in (*closure.shown, *program, *read)),
            *(Mount(path, "write", path) for path in write),
            *(mask(path) for path in masks),
        ]


def mask(path: Path) -> Mount:
    """Nothing, where a secret is."""
    return Mount(path, "empty" if path.is_dir() else "blank_file")
