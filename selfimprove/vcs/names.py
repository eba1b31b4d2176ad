"""File names: which ones git, or a file system that git also serves, takes for its own folder.

And how a name of any bytes is told.
"""

from __future__ import annotations

import os
import re

# Code points that HFS+ leaves out when it compares names.
_IGNORED = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")


def is_dot_git(name: str) -> bool:
    """Whether one path component is `.git` on some system."""
    plain = _IGNORED.sub("", name).casefold().split(":")[0].rstrip(" .")
    return plain in (".git", "git~1")


def readable(path: str) -> str:
    """A path as records and messages hold it: what is no text, or nobody sees, is escaped."""
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
