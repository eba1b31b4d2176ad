"""What the upper layer of an overlay says of the layers below it."""

from __future__ import annotations

import os
import stat


def is_whiteout(seen: os.stat_result) -> bool:
    """Whether it marks what was deleted."""
    return stat.S_ISCHR(seen.st_mode) and seen.st_rdev == 0


def is_opaque(folder: str) -> bool:
    """Whether it replaces a folder instead of adding to it."""
    try:
        return os.getxattr(folder, "user.overlay.opaque", follow_symlinks=False) == b"y"
    except OSError:
        return False
