"""Folders the room makes and takes away, whatever a job has left in them."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from selfimprove.errors import ToolError
from selfimprove.process import Child, run_child
from selfimprove.proctree import LINUX
from selfimprove.vcs.overlayfs import is_whiteout

RESULT_CAP = 8 << 20


def remove_tree(path: Path) -> None:
    """Remove a folder and all below it, also what was made unreadable or too deep; absent is fine.

    `rmtree` recurses and wants to read everything; where that fails, folders are moved up first.
    """
    try:
        shutil.rmtree(path)
    except FileNotFoundError:
        return
    except (OSError, RecursionError):
        if path.is_symlink() or not path.is_dir():
            raise
        _remove_flat(path)


def _remove_flat(top: Path) -> None:
    """Empty one folder after the other; those in it are moved to the top: no path gets long."""
    mark, left, moved = f"{secrets.token_hex(8)}-", [top], 0
    while left:
        folder = left.pop()
        folder.chmod(stat.S_IRWXU)
        with os.scandir(folder) as found:
            entries = list(found)
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                moved += 1
                left.append(top / f"{mark}{moved}")
                Path(entry.path).chmod(stat.S_IRWXU)  # else it may not be moved
                Path(entry.path).rename(left[-1])
            else:
                Path(entry.path).unlink()
        if folder != top:
            folder.rmdir()
    top.rmdir()


@dataclass(frozen=True)
class MountPoint:
    """A place made for something provided, and the link that had to give way, if one did."""

    place: Path
    was: Path | None = None


def mount_point(tree: Path, relative: Path, source: Path, link: bool) -> MountPoint | None:
    """Make the place in `tree` where a provided path goes; None if it was there already.

    What is in the way (a committed link of that name, say) gives way: what is provided wins.
    """
    place = tree
    for part in relative.parts[:-1]:
        place /= part
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            place.unlink()
        place.mkdir(exist_ok=True)
    place /= relative.name
    was = place.readlink() if place.is_symlink() else None
    if link and was == source:
        return None
    if not link and was is None and place.exists() and place.is_dir() == source.is_dir():
        return None
    _clear(place)
    if link:
        with suppress(FileExistsError):  # another reader of the same tree was faster
            place.symlink_to(source)
    elif source.is_dir():
        place.mkdir(exist_ok=True)
    else:
        place.touch()
    return MountPoint(place, was)


def _clear(place: Path) -> None:
    if place.is_symlink() or place.is_file():
        place.unlink(missing_ok=True)
    elif place.is_dir():
        remove_tree(place)


def is_free(place: Path, source: Path) -> bool:
    """Whether nothing is there but, perhaps, a mount point for `source` from an earlier job."""
    if place.is_symlink():
        return place.readlink() == source
    if place.is_dir():
        return not any(place.iterdir())
    return not place.exists() or place.stat().st_size == 0


def take_away(made: Iterable[MountPoint]) -> None:
    """Remove mount points again, unless something was put there."""
    for one in made:
        with suppress(OSError):  # filled or gone meanwhile
            if one.place.is_symlink() or one.place.is_file():
                one.place.unlink()
            else:
                one.place.rmdir()
            if one.was is not None:
                one.place.symlink_to(one.was)


def keep_result(written: Path, wanted: Path) -> None:
    """Bring a result file out; a link or a device is none, and what is too long is cut."""
    wanted.unlink(missing_ok=True)
    try:
        descriptor = os.open(written, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return
    with os.fdopen(descriptor, "rb") as file:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            wanted.write_bytes(file.read(RESULT_CAP))


def copy_tree(source: Path, dest: Path) -> None:
    """Copy a folder's content into `dest`, over what is there; times, modes and links are kept."""
    dest.mkdir(parents=True, exist_ok=True)
    share = ("--reflink=auto",) if LINUX else ()
    argv = ("cp", "-a", *share, f"{source}/.", str(dest))
    outcome = run_child(Child(argv, dest, {"PATH": os.defpath, "LC_ALL": "C"}))
    if outcome.exit_code != 0:
        said = outcome.error or outcome.stderr.decode(errors="replace").strip()
        raise ToolError(f"{source} could not be copied: {said}", "see whether the disk is full")


def follows_no_link(top: Path, path: str) -> bool:
    """Whether what a job made below `top` can be reached there without following a link."""
    steps = [top / path, *(top / path).parents]
    return not any(step.is_symlink() for step in steps if top in step.parents)


def strip_whiteouts(layer: Path) -> None:
    """Remove an overlay's marks of what was deleted; a lowest layer must not have any."""
    for folder, _, names in os.walk(layer):
        for name in names:
            path = Path(folder, name)
            if is_whiteout(path.lstat()):
                path.unlink()


def without(tree: Path, base: Path) -> None:
    """Remove from `tree` the files that `base` has too, and folders that this leaves empty."""
    for folder, names, files in os.walk(base, topdown=False):
        here = tree / Path(folder).relative_to(base)
        links = [name for name in names if Path(folder, name).is_symlink()]
        for name in (*files, *links):
            if (here / name).is_symlink() or (here / name).is_file():
                (here / name).unlink()
        if here != tree and here.is_dir() and not here.is_symlink() and not any(here.iterdir()):
            here.rmdir()
