"""Durable whole-file writes: a document is replaced whole or not at all."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def write_whole(path: Path, data: bytes) -> None:
    """Replace `path` durably: temporary file beside it, fsync, rename, fsync of the folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), 0o644)
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make renames and new names in `folder` durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove(path: Path) -> None:
    """Delete a file and its folder where that is left empty."""
    path.unlink(missing_ok=True)
    try:
        path.parent.rmdir()
    except OSError:
        return


def json_bytes(document: Any) -> bytes:
    """A document as it is written: indented by two, UTF-8, a newline at the end."""
    return (json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def row_bytes(row: Any) -> bytes:
    """One row of a growing document: a single line without its newline."""
    return json.dumps(row, ensure_ascii=False, allow_nan=False).encode()


_OPEN, _SEPARATOR, _CLOSE = b"[\n", b",\n", b"\n]\n"


def array_bytes(rows: Sequence[bytes]) -> bytes:
    """A JSON array with one row a line."""
    return _OPEN + _SEPARATOR.join(rows) + _CLOSE if rows else b"[]\n"


def spliced(before: bytes, rows: Sequence[bytes]) -> bytes | None:
    """`before` with `rows` added at its end, by bytes; None where `before` is no such array.

    Rows that already stand at the end are not added twice, so that a step may run again.
    """
    if not rows:
        return before
    if before in (b"", b"[]\n"):
        return array_bytes(rows)
    if not (before.startswith(_OPEN) and before.endswith(_CLOSE)):
        return None
    tail = _SEPARATOR.join(rows) + _CLOSE
    if before.endswith(_SEPARATOR + tail) or before == _OPEN + tail:
        return before
    return before[: -len(_CLOSE)] + _SEPARATOR + tail
