"""What two measurements must share to be comparable, as digests."""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any, Literal

import psutil

from selfimprove.contracts.base import Sha256
from selfimprove.contracts.benchmark import Fingerprint, HowRun

PROTOCOL = 1
"""Raised when the way of measuring changes."""
MANIFEST_OVER = 1 << 30
"""Bytes above which a provided path is known by its manifest, not its content."""

How = Literal["content", "manifest", "none"]


@dataclass(frozen=True)
class Parts:
    """What goes into a fingerprint, each as plain JSON values."""

    provided: Mapping[str, str]
    """Path -> digest, by `path_digest`."""
    benchmark: Mapping[str, Any]
    """Command, format, primary metric, and the object ids of sealed paths."""
    settings: Mapping[str, Any]
    """The settings that bear on a measurement."""
    level: str
    network: str = ""
    """What of the network a measurement is let at, in words; empty for nothing."""
    candidate: HowRun = ""


def fingerprint(parts: Parts) -> Fingerprint:
    """The fingerprint of measurements made here and now."""
    return Fingerprint(
        protocol=PROTOCOL,
        machine=digest(machine()),
        environment=digest(parts.provided),
        benchmark=digest(parts.benchmark),
        settings=digest(parts.settings),
        level=parts.level,
        network=parts.network,
        candidate=parts.candidate,
    )


def digest(value: Any) -> Sha256:
    """SHA-256 of plain JSON values, the order of keys aside."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()


def machine() -> dict[str, Any]:
    """What of this machine a speed depends on; its name, which containers make up, does not."""
    return {
        "system": platform.system(),
        "architecture": platform.machine(),
        "processor": _processor(),
        "cores": psutil.cpu_count(logical=True),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
    }


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(errors="replace")
    except OSError:
        return platform.processor()
    found = re.search(r"^(?:model name|Model|cpu model)\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1].strip() if found else platform.processor()


def path_digest(path: Path, how: How | None, cache: Path | None = None) -> str:
    """The digest of a provided path; by content or, where that is over 1 GB, by manifest.

    Content is read once for each manifest: `cache` (a folder) keeps what came of it.
    """
    if how == "none":
        return "none"
    rows = list(_manifest(path))
    manifest = digest(rows)
    if how == "manifest" or (how is None and _total(rows) > MANIFEST_OVER):
        return f"manifest:{manifest}"
    kept = cache / manifest if cache is not None else None
    if kept is not None and kept.is_file():
        return f"content:{kept.read_text().strip()}"
    content = digest([[name, kind, _content(path, name, kind)] for name, kind, *_ in rows])
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        fresh = kept.with_name(f"{manifest}.{os.getpid()}.tmp")
        fresh.write_text(content)
        fresh.replace(kept)
    return f"content:{content}"


def _manifest(path: Path) -> Iterator[list[Any]]:
    """Name, kind, size, time and inode of everything below `path`, in one order."""
    yield _row(path, "")
    if not path.is_dir():
        return
    for folder, folders, files in os.walk(path):
        folders.sort()
        for name in sorted([*files, *(f for f in folders if Path(folder, f).is_symlink())]):
            file = Path(folder, name)
            yield _row(file, str(file.relative_to(path)))


def _row(file: Path, name: str) -> list[Any]:
    try:
        stat = file.lstat()
    except OSError:
        return [name, "missing", 0, 0, 0]
    if file.is_symlink():
        return [name, "link", 0, 0, 0, str(file.readlink())]
    kind = "folder" if file.is_dir() else "program" if stat.st_mode & 0o111 else "file"
    if kind == "folder":
        return [name, kind, 0, 0, 0]  # its times change with caches that are not ours
    return [name, kind, stat.st_size, stat.st_mtime_ns, stat.st_ino]


def _total(rows: Sequence[Sequence[Any]]) -> int:
    return sum(row[2] for row in rows)


def _content(path: Path, name: str, kind: str) -> str:
    file = path / name if name else path
    if kind == "link":
        return str(file.readlink())
    if kind not in ("file", "program"):
        return ""
    try:
        with file.open("rb") as stream:
            return file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        return f"unreadable: {error.strerror}"
