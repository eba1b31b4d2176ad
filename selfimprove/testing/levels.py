"""Lets runs of a test have another level of isolation than the machine gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from selfimprove.room import isolation, landlock

if TYPE_CHECKING:
    import pytest


def hold_to(level: isolation.Level, patch: pytest.MonkeyPatch) -> str:
    """Let runs have this level at most; says why it cannot be had here, or nothing.

    What was found out is forgotten; `release` forgets it again, when the patch is undone.
    """
    release()
    if level == "off":
        patch.setenv("SELFIMPROVE_SANDBOX__MODE", "off")
        return ""
    if level == "bubblewrap":
        found = isolation.probe("auto")
        return "" if found.level == "bubblewrap" else f"no bubblewrap here: {found.reason}"
    if level == "landlock" and not landlock.version():
        return "no Landlock in this kernel"
    if level == "reduced":
        patch.setattr(landlock, "version", lambda: 0)
    patch.setattr(isolation, "_binaries", list)
    return ""


def release() -> None:
    """Forget which level was found."""
    isolation._probe.cache_clear()
