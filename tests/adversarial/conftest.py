"""Everything here is tried at one level of isolation: `ADVERSARIAL_LEVEL`, else the full one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from selfimprove.testing.levels import hold_to, release

from .rows import LEVEL


@pytest.fixture(scope="session", autouse=True)
def level() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        assert hold_to(LEVEL, patch) == ""
        yield
    release()
