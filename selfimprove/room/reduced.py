"""What the level without namespaces needs: environments that point back into the checkout.

There the tree lies in the cache folder and provided paths are symlinks, so an editable install or
a linked workspace would make a benchmark measure the user's checkout instead of the candidate.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from selfimprove.room.visible import is_below

SITE = ("lib/python*/site-packages", "lib64/python*/site-packages", "Lib/site-packages")
NAMES_A_PLACE = ("*.pth", "*.egg-link", "__editable__*.py", "*.dist-info/direct_url.json")


def points_back(provided: Path, top: Path) -> str:
    """What in a provided path leads into the checkout at `top` itself; empty if nothing does."""
    for found in (*_installs(provided, top), *_links(provided, top), *_first_lines(provided, top)):
        return found
    return ""


def _installs(provided: Path, top: Path) -> Iterator[str]:
    place = re.compile(re.escape(os.fsencode(top)) + rb"(?![\w.-])[^\s'\"]*")
    for site in SITE:
        for folder in provided.glob(site):
            for pattern in NAMES_A_PLACE:
                for file in sorted(folder.glob(pattern)):
                    for hit in place.findall(file.read_bytes()):
                        if not is_below(Path(os.fsdecode(hit)), [provided]):
                            yield f"{file} names {os.fsdecode(hit)}"


def _links(provided: Path, top: Path) -> Iterator[str]:
    """Workspace links: `node_modules/package` and `node_modules/@scope/package`."""
    if provided.name != "node_modules":
        return
    for link in sorted((*provided.glob("*"), *provided.glob("@*/*"))):
        target = Path(os.path.realpath(link))
        if link.is_symlink() and is_below(target, [top]) and not is_below(target, [provided]):
            yield f"{link} is a link to {target}"


def _first_lines(provided: Path, top: Path) -> Iterator[str]:
    """Scripts run by an interpreter of the checkout; one of the same environment is harmless."""
    for script in sorted((provided / "bin").glob("*")):
        if not script.is_file():
            continue
        with script.open("rb") as file:
            first = file.readline(512)
        named = Path(os.fsdecode(first[2:].strip().split(b" ")[0])) if first[:2] == b"#!" else None
        if named and is_below(named, [top]) and not is_below(named, [provided]):
            yield f"{script} is run by {named}"
