"""Without namespaces: the kernel's Landlock, where there is one, keeps a job to its own files.

What a job may read and write is what it would be shown in a room with mounts; everything else is
refused. Nothing is hidden by it, nothing put in another place, and UDP is not its business. A
launcher of a few lines restricts itself and becomes the command.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from selfimprove.proctree import LINUX
from selfimprove.room.isolation import Mount
from selfimprove.room.visible import is_below

NET_SINCE = 4
"""The version from which TCP can be refused."""
SIGNALS_SINCE = 6
"""The version from which other processes cannot be signalled."""
ALWAYS_READ = ("/proc", "/dev", "/run/systemd/resolve")
ALWAYS_WRITTEN = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/pts", "/dev/shm")

_CREATE_RULESET = 444
_VERSION_FLAG = 1

_LAUNCH = """
import ctypes, json, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(*given):
    answer = libc.syscall(*given)
    if answer < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return answer
with open(int(sys.argv[1]), "rb") as file:
    told = json.load(file)
version = told["version"]
execute, write_file, read_file, read_dir = 1, 2, 4, 8
every = (1 << 13) - 1
every |= (version >= 2) << 13 | (version >= 3) << 14 | (version >= 5) << 15
of_files = every & (execute | write_file | read_file | 1 << 14 | 1 << 15)
network = 3 if told["ports"] is not None and version >= 4 else 0
attributes = struct.pack("QQQ", every, network, 2 if version >= 6 else 0)
attributes = attributes[: 8 if version < 4 else 16 if version < 6 else 24]
rules = call(444, attributes, len(attributes), 0)
def allow(path, access):
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    if not os.path.isdir(path):
        access &= of_files
    call(445, rules, 1, struct.pack("=Qi", access, place), 0)
    os.close(place)
for path in told["read"]:
    allow(path, execute | read_file | read_dir)
for path in told["write"]:
    allow(path, every)
for port in told["ports"] or () if network else ():
    call(445, rules, 2, struct.pack("QQ", 2, port), 0)
libc.prctl(38, 1, 0, 0, 0)
call(446, rules, 0)
os.execv(sys.argv[2], sys.argv[2:])
"""
"""Reads what is allowed from a descriptor, has it enforced, and becomes the command."""


@dataclass(frozen=True)
class Allowed:
    """What a job may do."""

    read: tuple[Path, ...]
    write: tuple[Path, ...]
    ports: tuple[int, ...] | None = ()
    """TCP ports it may connect to; None: any, and it may listen."""

    def document(self) -> bytes:
        """As the launcher reads it."""
        told = {
            "version": version(),
            "read": [*ALWAYS_READ, *map(str, self.read)],
            "write": [*ALWAYS_WRITTEN, *map(str, self.write)],
            "ports": None if self.ports is None else list(self.ports),
        }
        return json.dumps(told).encode("utf-8", "surrogateescape")


@lru_cache(maxsize=1)
def version() -> int:
    """The version of Landlock that the kernel has and allows; 0 where it has none."""
    if not LINUX:
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    return max(int(libc.syscall(_CREATE_RULESET, None, 0, _VERSION_FLAG)), 0)


def allowed(mounts: Iterable[Mount], ports: tuple[int, ...] | None) -> Allowed:
    """What a room with mounts would show and let be written, as permissions."""
    mounts = list(mounts)
    masked = [one.dest for one in mounts if one.kind in ("empty", "blank_file")]
    read = [one.source for one in mounts if one.kind == "read" and one.source]
    write = [one.source for one in mounts if one.kind in ("write", "device") and one.source]
    return Allowed(
        tuple(path for one in read for path in _less(one, masked)),
        tuple(path for one in write for path in _less(one, masked)),
        ports,
    )


def _less(path: Path, masked: Sequence[Path]) -> Iterator[Path]:
    """A path less what is masked in it, which permissions cannot take back: its other parts."""
    inner = [one for one in masked if is_below(one, [path])]
    if path in inner:
        return
    if not inner:
        yield path
        return
    try:
        parts = sorted(os.scandir(path), key=lambda entry: entry.name)
    except OSError:
        return
    for part in parts:
        yield from _less(Path(part.path), inner)


def restricted(rules: int, argv: Sequence[str]) -> tuple[str, ...]:
    """The command behind the launcher; `rules` is a descriptor that holds what is allowed."""
    return (sys.executable, "-I", "-S", "-c", _LAUNCH, str(rules), *argv)
