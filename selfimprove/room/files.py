"""Folders the room makes and takes away, whatever a job has left in them."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable
from pathlib import Path

RESULT_CAP = 8 << 20


def remove_tree(path: Path) -> None:
    """Remove a folder and all below it, also what was made unreadable; absent is fine."""
    try:
        shutil.rmtree(path)
    except FileNotFoundError:
        return
    except PermissionError:
        for folder, names, _ in os.walk(path):
            Path(folder).chmod(stat.S_IRWXU)
            for name in names:
                below = Path(folder, name)
                if not below.is_symlink():
                    below.chmod(stat.S_IRWXU)
        shutil.rmtree(path)


def mount_point(tree: Path, relative: Path, source: Path, link: bool) -> Path | None:
    """Make the place in `tree` where a provided path goes; returns it if it was not there.

    What is in the way (a committed link of that name, say) gives way: what is provided wins.
    """
    place = tree
    for part in relative.parts[:-1]:
        place /= part
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            place.unlink()
        place.mkdir(exist_ok=True)
    place /= relative.name
    if link:
        if place.is_symlink() and place.readlink() == source:
            return None
        _clear(place)
        place.symlink_to(source)
        return place
    if not place.is_symlink() and place.exists() and place.is_dir() == source.is_dir():
        return None
    _clear(place)
    if source.is_dir():
        place.mkdir(exist_ok=True)
    else:
        place.touch()
    return place


def _clear(place: Path) -> None:
    if place.is_symlink() or place.is_file():
        place.unlink(missing_ok=True)
    elif place.is_dir():
        remove_tree(place)


def take_away(places: Iterable[Path]) -> None:
    """Remove mount points again, unless something was put there."""
    for place in places:
        try:
            if place.is_symlink() or place.is_file():
                place.unlink()
            else:
                place.rmdir()
        except OSError:
            continue  # filled or gone meanwhile


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
