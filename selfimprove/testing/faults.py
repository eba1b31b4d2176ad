"""Points at which a run can be killed: every journal line, file, git command, program, agent call.

`installed` wraps what touches the world, in every module that uses it, and tells a listener before
and after each time (for a journal line and a file also halfway). A point's name holds no id, date
or path of its own, so that it is the same in the next run:

    with installed(recorder := Recorder()):
        play.run(max_iterations=2)
    recorder.points    # ["journal round_1/research step_started |before #1", ...]
    with installed(Killer(recorder.points[17])):
        play.run(max_iterations=2)    # ends here, by SIGKILL
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from pathlib import Path
from typing import Any, Protocol

from selfimprove.agents.scripted import ScriptedAgent
from selfimprove.process import run_child
from selfimprove.store import files
from selfimprove.store.journal import Journal
from selfimprove.vcs import git

_IDS = re.compile(r"[0-9a-f]{7,64}")
_HIDDEN = re.compile(r"\.(.+)\.[^.]+")
"""The temporary file beside a document that is being written."""


class Listener(Protocol):
    """Is told that a point was reached."""

    def __call__(self, what: str, side: str, halfway: Callable[[], None] | None = None) -> None:
        """`halfway` leaves what a kill in the middle of the deed would."""
        ...


class Recorder:
    """Collects the names of all points, in the order they were reached."""

    def __init__(self) -> None:
        self.points: list[str] = []
        self._seen: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __call__(self, what: str, side: str, halfway: Callable[[], None] | None = None) -> None:
        """Note a point."""
        with self._lock:
            name = f"{what} |{side}"
            self._seen[name] += 1
            self.points.append(f"{name} #{self._seen[name]}")
            self.reached(self.points[-1], halfway)

    def reached(self, point: str, halfway: Callable[[], None] | None) -> None:
        """What to do at a point; nothing here."""


class Killer(Recorder):
    """Kills this process at one point: it gets no chance to say goodbye."""

    def __init__(self, point: str) -> None:
        super().__init__()
        self._point = point

    def reached(self, point: str, halfway: Callable[[], None] | None) -> None:
        """Die, if this is the point."""
        if point == self._point:
            if halfway is not None:
                halfway()
            os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def installed(listener: Listener) -> Iterator[None]:
    """Let `listener` hear of every point, for as long as this lasts."""
    undo: list[Callable[[], None]] = []
    try:
        for function, describe in FUNCTIONS:
            undo += _everywhere(function, _around(listener, function, describe))
        for owner, name, describe in METHODS:
            undo.append(_method(owner, name, _around(listener, getattr(owner, name), describe)))
        undo.append(_method(Journal, "_write", _lines(listener, Journal._write)))
        undo.append(_method(Path, "replace", _renames(listener, Path.replace)))
        yield
    finally:
        for each in reversed(undo):
            each()


def _around(listener: Listener, function: Any, describe: Callable[..., str]) -> Any:
    @wraps(function)
    def told(*args: Any, **given: Any) -> Any:
        what = describe(*args, **given)
        listener(what, "before")
        answer = function(*args, **given)
        listener(what, "after")
        return answer

    return told


def _lines(listener: Listener, write: Any) -> Any:
    """A journal line; halfway a part of it is on disk."""

    def told(self: Journal, line: bytes) -> None:
        envelope = json.loads(line)
        payload = envelope["payload"]
        kind = payload.get("event") or payload.get("tool") or payload.get("intent") or ""
        what = f"journal {_plain(envelope['correlation_id'])} {envelope['type']} {kind}"

        def halfway() -> None:
            folder = self._folder
            folder.mkdir(parents=True, exist_ok=True)
            with (folder / f"round_{self.number}.jsonl").open("ab") as file:
                file.write(line[: len(line) // 2])

        listener(what, "before")
        listener(what, "halfway", halfway)
        write(self, line)
        listener(what, "after")

    return told


def _renames(listener: Listener, replace: Any) -> Any:
    """A document that is written and not yet in its place."""

    def told(self: Path, target: Any) -> Any:
        if _HIDDEN.fullmatch(self.name):
            listener(f"file {_document(Path(target))}", "halfway")
        return replace(self, target)

    return told


def _everywhere(function: Any, wrapped: Any) -> list[Callable[[], None]]:
    """Put `wrapped` into every module that imported the function by name."""
    undo: list[Callable[[], None]] = []
    for module in [m for name, m in sys.modules.items() if name.startswith("selfimprove.")]:
        for name, value in list(vars(module).items()):
            if value is function and module.__name__ != __name__:
                setattr(module, name, wrapped)
                undo.append(partial(setattr, module, name, function))
    return undo


def _method(owner: type, name: str, wrapped: Any) -> Callable[[], None]:
    before = getattr(owner, name)
    setattr(owner, name, wrapped)
    return partial(setattr, owner, name, before)


def _git(command: Sequence[str]) -> str:
    words = [word for word in command[1:] if not word.startswith(("--git-dir=", "--work-tree="))]
    words = [word for word in words if word.startswith("-") or re.fullmatch(r"[a-z-]+", word)]
    return f"git {_plain(' '.join(words[:4]))}"


def _document(path: Path) -> str:
    return _plain("/".join(path.parts[-3:]))


def _session(request: Any) -> str:
    return _plain(request.session_id.split("/", 1)[1])


def _plain(words: str) -> str:
    return _IDS.sub("H", words)


FUNCTIONS: tuple[tuple[Any, Callable[..., str]], ...] = (
    (files.write_whole, lambda path, *_: f"file {_document(path)}"),
    (files.remove, lambda path: f"remove {_document(path)}"),
    (git.execute, lambda command, *_, **__: _git(command)),
    (run_child, lambda child, *_, **__: f"program {_plain(Path(child.argv[0]).name)}"),
)
"""Functions that touch the world, and what one call of them is named."""
METHODS: tuple[tuple[type, str, Callable[..., str]], ...] = (
    (ScriptedAgent, "ask", lambda _, request, *__: f"agent {_session(request)}"),
    (git.Git, "stream", lambda _, *args, **__: _git(["git", *args])),
)


def sample(points: Sequence[str], wanted: int) -> list[str]:
    """Some of the points: of each kind and side as many as its share, spread over the run."""
    kinds: dict[tuple[str, str], list[str]] = {}
    for point in points:
        what, _, side = point.partition(" |")
        kinds.setdefault((what.split(" ", 1)[0], side.split(" ", 1)[0]), []).append(point)
    chosen: set[str] = set()
    for share in kinds.values():
        many = max(1, min(len(share), round(wanted * len(share) / len(points))))
        step = len(share) / many
        chosen |= {share[int(step * (k + 0.5))] for k in range(many)}
    return [point for point in points if point in chosen]
