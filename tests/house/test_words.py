"""What is committed speaks of the project alone: no machine it was made on, no loose ends."""

from __future__ import annotations

import os
import pwd
import re
import socket
import sys

from .source import CHECKOUT, tracked

# Placeholders that documents and tests may use for a person's home.
EXAMPLE_HOMES = {"you", "me", "user", "ann", "someone", "name"}
LOOSE_ENDS = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|<!--\s*numbers|^(<{7}|>{7}) ", re.MULTILINE)
HOMES = re.compile(r"(?<![\w.*~-])/(?:home|Users)/([A-Za-z][\w.-]*)")


def texts() -> dict[str, str]:
    """Every tracked text file by its path from the top."""
    found = {}
    for path in tracked():
        raw = path.read_bytes()
        if b"\0" not in raw[:8000]:
            found[str(path.relative_to(CHECKOUT))] = raw.decode("utf-8", "replace")
    return found


def places_of_this_machine() -> set[str]:
    """Directories and names that mean something here and nowhere else."""
    home = pwd.getpwuid(os.getuid()).pw_dir
    host = socket.gethostname()
    found = {str(CHECKOUT), f"{home}/", sys.prefix}
    if len(host) > 6:
        found.add(host)
    return {place for place in found if place.count("/") != 1 or len(place) > 5}


def test_no_file_names_the_machine_it_was_written_on() -> None:
    assert [
        f"{name}: {place}"
        for name, text in texts().items()
        for place in places_of_this_machine()
        if place in text
    ] == []


def test_no_file_names_a_persons_home() -> None:
    assert [
        f"{name}: {found[0]}"
        for name, text in texts().items()
        for found in HOMES.finditer(text)
        if found[1] not in EXAMPLE_HOMES
    ] == []


def test_no_loose_ends() -> None:
    this = "tests/house/test_words.py"
    assert [
        f"{name}: {found[0]}"
        for name, text in texts().items()
        if name != this
        for found in LOOSE_ENDS.finditer(text)
    ] == []
