"""File names that git, or a file system that git also serves, takes for its own folder."""

from __future__ import annotations

import re

# Code points that HFS+ leaves out when it compares names.
_IGNORED = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")


def is_dot_git(name: str) -> bool:
    """Whether one path component is `.git` on some system."""
    plain = _IGNORED.sub("", name).casefold().split(":")[0].rstrip(" .")
    return plain in (".git", "git~1")
