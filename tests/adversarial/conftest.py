"""Everything here is tried at one level of isolation: `ADVERSARIAL_LEVEL`, else the full one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from selfimprove.room.isolation import probe
from selfimprove.testing.levels import hold_to, release

from .rows import LEVEL


@pytest.fixture(scope="session", autouse=True)
def level() -> Iterator[None]:
    """Nothing is tried but at the level that is meant; below the full one, in a cell alone."""
    if LEVEL != "bubblewrap":
        assert not os.access("/etc", os.W_OK), "a villain could write over the system"
        assert os.getuid() != 0, "a villain could be root"
        assert Path("/proc/1/comm").read_text() == "bwrap\n", "a villain could kill any process"
    with pytest.MonkeyPatch.context() as patch:
        assert hold_to(LEVEL, patch) == ""
        assert probe("auto").level == LEVEL
        yield
    release()
