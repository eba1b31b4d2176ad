"""What is kept of a child's output: its ends in memory, the whole in a log, both bounded."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import IO

from selfimprove.redaction import Redactor, Stream

BLOCK = 4096
BEYOND = 1 << 60
"""Bytes: what a folder counts that has a path below it too long to be looked at."""


def disk_usage(folder: Path) -> int:
    """Bytes on disk below a folder, each file at least a block; what goes meanwhile counts not."""
    used, waiting = 0, [os.fspath(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    used += max(entry.stat(follow_symlinks=False).st_blocks * 512, BLOCK)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:  # else anything could be hidden there
                return BEYOND
    return used


class Kept:
    """The first and the last half of a stream, with a line in between that says so."""

    def __init__(self, cap: int) -> None:
        self.half = max(cap // 2, 1)
        self.head = bytearray()
        self.tail = bytearray()
        self.dropped = 0

    def add(self, data: bytes) -> None:
        """Take in more of the stream."""
        room = self.half - len(self.head)
        if room > 0:
            self.head += data[:room]
            data = data[room:]
        self.tail += data
        if len(self.tail) > 2 * self.half:
            self._trim()

    def _trim(self) -> None:
        over = max(len(self.tail) - self.half, 0)
        self.dropped += over
        del self.tail[:over]

    def value(self) -> bytes:
        """What was kept; never two half lines joined to a whole one."""
        self._trim()
        if not self.dropped:
            return bytes(self.head + self.tail)
        return bytes(self.head) + b"\n[... %d bytes left out ...]\n" % self.dropped + self.tail


class Log:
    """Both streams as they came, up to a cap."""

    def __init__(self, path: Path | None, cap: int, redactor: Redactor | None = None) -> None:
        self._left = cap
        self._clean = Stream(redactor) if redactor is not None else None
        self._file: IO[bytes] | None = None
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("wb", buffering=0)

    def add(self, data: bytes) -> None:
        """Write as much as the cap leaves room for, and say once that it was reached."""
        if self._file is not None and self._left > 0:
            self._write(self._clean.add(data) if self._clean else data)

    def _write(self, data: bytes) -> None:
        assert self._file is not None
        self._file.write(data[: self._left])
        self._left -= len(data)
        if self._left <= 0:
            self._file.write(b"\n[... the rest is left out ...]\n")

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            if self._clean is not None and self._left > 0:
                self._write(self._clean.rest())
            self._file.close()
