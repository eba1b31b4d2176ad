"""Runs a command as an ordinary user who can write to one throw-away folder: python FILE WORDS...

Villains are tried in it at levels of isolation that let them reach what their user can. Root's own
powers are put down for good (another user id, not root's under another name), all file systems but
the folder at /tmp are read-only, and processes are seen and killed inside alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from selfimprove.room.isolation import probe

USER = 65533
"""Nobody's: the room makes root `nobody`, which is 65534."""
LOWERED = (
    f"setpriv --reuid={USER} --regid={USER} --clear-groups --inh-caps=-all --bounding-set=-all"
)
# bubblewrap covers parts of /proc for root; no room could then be made inside.
ENTER = f'mount -t proc proc /proc && exec {LOWERED} -- "$@"'
CAPS = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP", "CAP_SYS_ADMIN")


def cell(folder: Path, words: list[str]) -> list[str]:
    """The command line that runs `words` with `folder` as its only place to write."""
    argv = [str(probe("required").bwrap), "--ro-bind", "/", "/", "--dev", "/dev"]
    argv += ["--bind", str(folder), "/tmp", *_in_reach(Path("/tmp"))]
    for place in ("/var/tmp", "/dev/shm"):
        argv += ["--perms", "1777", "--tmpfs", place]
    argv += ["--unshare-pid", "--unshare-ipc", "--unshare-net", "--proc", "/proc"]
    argv += ["--new-session", "--die-with-parent"]
    argv += ["--setenv", "HOME", "/tmp/home", "--setenv", "TMPDIR", "/tmp"]
    if os.getuid() != 0:
        return [*argv, "--unshare-user", "--", *words]
    home = Path.home()  # in nobody else's reach, an interpreter below it neither
    argv += ["--perms", "0755", "--tmpfs", str(home), *_in_reach(home)]
    for cap in CAPS:
        argv += ["--cap-add", cap]
    return [*argv, "--", "sh", "-c", ENTER, "cell", *words]


def _in_reach(hidden: Path) -> list[str]:
    """Show what the command needs below a place that something else was laid over."""
    argv = []
    for needed in (Path(sys.base_prefix).resolve(), Path(sys.prefix), Path.cwd()):
        if needed.is_relative_to(hidden):
            for above in reversed(needed.parents):
                argv += ["--perms", "0755", "--dir", str(above)] if hidden in above.parents else []
            argv += ["--ro-bind", str(needed), str(needed)]
    return argv


def main(words: list[str]) -> int:
    """Run the command; gives its exit code."""
    folder = Path(tempfile.mkdtemp(prefix="selfimprove-cell-"))
    try:
        (folder / "home").mkdir()
        if os.getuid() == 0:
            for place in (folder, folder / "home"):
                os.chown(place, USER, USER)
        return subprocess.run(cell(folder, words), check=False).returncode
    finally:
        # not shutil: it recurses, and folders may be deeper than that goes
        subprocess.run(["rm", "-rf", "--", str(folder)], check=False)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
