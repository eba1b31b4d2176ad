"""Runs a command as somebody who is not root, with processes of their own: python FILE WORDS...

What root starts is put into a user and process namespace; whoever is not root runs it as it is.
"""

from __future__ import annotations

import os
import sys

from selfimprove.room.isolation import probe

USER = ("--unshare-user", "--uid", "1000", "--gid", "1000", "--cap-drop", "ALL")
OWN = (
    "--unshare-pid",
    "--proc",
    "/proc",
    "--dev-bind",
    "/dev/shm",
    "/dev/shm",
    "--die-with-parent",
)


def main(words: list[str]) -> None:
    """Become the command."""
    if os.getuid() == 0:
        bwrap = probe("required").bwrap
        words = [str(bwrap), "--dev-bind", "/", "/", *USER, *OWN, "--", *words]
    os.execvp(words[0], words)


if __name__ == "__main__":
    main(sys.argv[1:])
