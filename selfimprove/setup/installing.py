"""Puts files that a person has confirmed into their working tree; nothing of theirs is replaced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from selfimprove.errors import TargetError


def install(top: Path, files: Mapping[str, tuple[bytes, bool]]) -> list[Path]:
    """Write new files below `top`: path -> content, and whether it is a program.

    Those that stand there already with this content are left. Raises TargetError, and then none of
    them is there, where something else is in the way.
    """
    made: list[Path] = []
    try:
        for path, (content, program) in sorted(files.items()):
            place = top / path
            if place.is_file() and not place.is_symlink() and place.read_bytes() == content:
                continue
            _ensure_inside(top, place)
            place.parent.mkdir(parents=True, exist_ok=True)
            with place.open("xb") as file:
                made.append(place)
                file.write(content)
            if program:
                place.chmod(place.stat().st_mode | 0o111)
    except OSError as error:
        for place in made:
            place.unlink(missing_ok=True)
        raise TargetError(
            f"{error.filename}: {error.strerror}: the benchmark cannot be put there",
            "move what is in the way, then run `selfimprove init` again",
        ) from None
    return made


def _ensure_inside(top: Path, place: Path) -> None:
    """No folder on the way may be a link: what is below it lies elsewhere."""
    for folder in _between(top, place):
        if folder.is_symlink():
            raise NotADirectoryError(20, "a link on the way", str(folder))


def _between(top: Path, place: Path) -> Iterator[Path]:
    for folder in place.parents:
        if folder == top:
            return
        yield folder
