"""Durable whole-file writes: a document is replaced whole or not at all."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic_core import to_json

_UNFINISHED = re.compile(r"\..+\.[a-z0-9_]{8}")
"""Names as `tempfile` makes them for a file that is being written."""


def write_whole(path: Path, data: bytes) -> None:
    """Replace `path` durably: temporary file beside it, fsync, rename, fsync of the folder."""
    new = not path.exists()
    if new:
        path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), 0o644)
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException as error:
        Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = str(path)  # a full disk names no file, and the temporary one is gone
        raise
    if new:
        # a replaced file is whole in either version, and the next start brings it up to date
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make renames and new names in `folder` durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        error.filename = str(folder)
        raise
    finally:
        os.close(handle)


def remove(path: Path) -> None:
    """Delete a file and its folder where that is left empty."""
    path.unlink(missing_ok=True)
    try:
        path.parent.rmdir()
    except OSError:
        return


def tail(path: Path, many: int) -> bytes:
    """The last bytes of a file."""
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - many))
        return file.read(many)


def leftovers(*folders: Path) -> list[Path]:
    """Temporary files in these folders that a process left when it was killed while writing."""
    there = [folder for folder in folders if folder.is_dir()]
    found = [path for folder in there for path in folder.glob(".*.????????")]
    return sorted(path for path in found if _UNFINISHED.fullmatch(path.name))


def json_bytes(document: Any) -> bytes:
    """A document as it is written: indented by two, UTF-8, a newline at the end."""
    # the standard library has no fast encoder that indents
    return to_json(document, indent=2, inf_nan_mode="null") + b"\n"


def row_bytes(row: Any) -> bytes:
    """One row of a growing document: a single line without its newline."""
    return json.dumps(row, ensure_ascii=False, allow_nan=False).encode()


_OPEN, _SEPARATOR, _CLOSE = b"[\n", b",\n", b"\n]\n"


def array_bytes(rows: Sequence[bytes]) -> bytes:
    """A JSON array with one row a line."""
    return _OPEN + _SEPARATOR.join(rows) + _CLOSE if rows else b"[]\n"


def rows_of(data: bytes) -> list[bytes]:
    """The rows of a document that grows by rows: an array as written here, or a row a line."""
    if data == b"[]\n":
        return []
    if data.startswith(_OPEN) and data.endswith(_CLOSE):
        return data[len(_OPEN) : -len(_CLOSE)].split(_SEPARATOR)
    return data.splitlines()


def spliced(before: bytes, rows: Sequence[bytes]) -> bytes | None:
    """`before` with `rows` added at its end, by bytes; None where `before` is no such array.

    Leading rows that already stand at the end are not added twice, so that a step may run again.
    """
    if before in (b"", b"[]\n"):
        return array_bytes(rows)
    if not (before.startswith(_OPEN) and before.endswith(_CLOSE)):
        return None
    body = before[: -len(_CLOSE)]
    for there in range(len(rows), 0, -1):
        tail = _SEPARATOR.join(rows[:there])
        if body.endswith(_SEPARATOR + tail) or body == _OPEN + tail:
            rows = rows[there:]
            break
    return body + b"".join(_SEPARATOR + row for row in rows) + _CLOSE


def appended(before: bytes, rows: Sequence[bytes]) -> bytes:
    """Lines with `rows` added at their end, leading ones that already stand there left out."""
    body = before[: before.rfind(b"\n") + 1]
    for there in range(len(rows), 0, -1):
        tail = b"".join(row + b"\n" for row in rows[:there])
        if body.endswith(b"\n" + tail) or body == tail:
            rows = rows[there:]
            break
    return body + b"".join(row + b"\n" for row in rows)
