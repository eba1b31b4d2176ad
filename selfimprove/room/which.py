"""Whether a command's program is found inside the room where it is found outside."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from selfimprove.process import base_env
from selfimprove.room.job import Job, ToolCheck
from selfimprove.room.visible import first_line_of, is_below

if TYPE_CHECKING:
    from selfimprove.room.room import Room

ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
CHECK_S = 30.0
FIND = 'command -v -- "$1" && { [ -z "$2" ] || [ -x "$2" ]; }'
"""Prints where a program is; fails if it, or the interpreter it names, is not there."""


def program_of(command: str) -> str:
    """The word a shell command begins with, past assignments; empty where there is none."""
    try:
        words = shlex.split(command, comments=True)
    except ValueError:
        return ""
    return next((word for word in words if not ASSIGNMENT.match(word)), "")


def check_tool(room: Room, command: str, tree: Path) -> ToolCheck:
    """Resolve a command's program outside and inside, and word a difference."""
    name = program_of(command)
    top, prefix = room.spec.target_top, room.spec.prefix
    start = top / prefix
    named = os.path.normpath(start / name) if "/" in name else name
    outside = shutil.which(named, path=base_env().get("PATH")) or "" if name else ""
    inside = _inside(room, name, outside, tree) if name else ""
    if "/" in inside:
        inside = os.path.normpath(start / inside)
    if not outside or inside in (outside, name, _in_tree(room, outside, tree)):
        return ToolCheck(name, outside, inside)
    return ToolCheck(name, outside, inside, _message(name, outside, inside, top))


def _inside(room: Room, name: str, outside: str, tree: Path) -> str:
    interpreter = first_line_of(Path(outside)) if outside else None
    words = ("/bin/sh", "-c", FIND, "sh", name, str(interpreter or ""))
    outcome = room.run(Job(words, tree, "benchmark", timeout=CHECK_S, services=False))
    lines = outcome.stdout.decode(errors="replace").splitlines()
    return lines[0] if outcome.exit_code == 0 and lines else ""  # a builtin prints its bare name


def _in_tree(room: Room, outside: str, tree: Path) -> str:
    """At the reduced level the tree stands elsewhere; there its own copy is the right one."""
    top = room.spec.target_top
    if room.probe.bwrap is not None or not is_below(Path(outside), [top]):
        return outside
    return str(tree / Path(outside).relative_to(top))


def _message(name: str, outside: str, inside: str, top: Path) -> str:
    there = f"{name!r} is {outside} outside the room and {inside or 'not found'} inside"
    path = Path(outside)
    if is_below(path, [top]):
        line = path.relative_to(top).parts[0]
    else:
        line = str(path.parent.parent if path.parent.name == "bin" else path)
    return f'{there}; add {{"path": "{line}"}} to `provide` in settings.json'
