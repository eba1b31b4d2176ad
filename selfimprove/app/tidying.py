"""`clean` and `prune`: what a run left is taken away, its record stays."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from selfimprove.outputs import BEYOND, disk_usage
from selfimprove.places import quarantine_of
from selfimprove.room.files import remove_tree
from selfimprove.store.files import leftovers
from selfimprove.store.layout import Layout
from selfimprove.store.lock import held
from selfimprove.store.record import load_state
from selfimprove.store.state import State


@dataclass(frozen=True)
class Cleaned:
    """What was taken away, and what was left and why."""

    removed: list[str]
    freed: int
    """Bytes."""
    kept: list[str]


def clean(layout: Layout, private: Path) -> Cleaned:
    """Remove trees, caches, the private clone, and logs of rounds that are over."""
    with held(layout.lock):
        state = load_state(layout)
        why = needed(state)
        quarantine = quarantine_of(private)
        kept = [f"{quarantine}: {why}"] if why and quarantine.exists() else []
        places = [
            *_private(private, keep=bool(why)),
            *_logs(layout, state),
            *_unfinished(layout),
        ]
        freed = 0
        for place in places:
            freed += disk_usage(place) % BEYOND if place.is_dir() else place.lstat().st_size
            _remove(place)
    return Cleaned([str(place) for place in places], freed, kept)


def needed(state: State) -> str:
    """Why the private clone cannot go; empty where nothing in it is the only copy."""
    if state.held_back:
        return "wins that are held back are in it; `selfimprove resume` publishes them"
    current = state.round
    if current and current.status not in ("completed", "failed"):
        return f"round {current.number} is not over, and its candidates are in it"
    return ""


def _private(private: Path, *, keep: bool) -> Iterator[Path]:
    """What lies in the run's own folder; where its clone stays, all but that."""
    if not private.is_dir():
        return
    if not keep:
        yield private
        return
    yield from (entry for entry in sorted(private.iterdir()) if entry != quarantine_of(private))


def _logs(layout: Layout, state: State) -> Iterator[Path]:
    """Logs, but those of the round under way."""
    under_way = f"round_{state.number}" if needed(state) else ""
    if layout.logs.is_dir():
        yield from (entry for entry in sorted(layout.logs.iterdir()) if entry.name != under_way)


def _unfinished(layout: Layout) -> list[Path]:
    """Temporary files of processes that were killed while they wrote, in any round."""
    folders = [layout.root, *(path for path in layout.root.rglob("*") if path.is_dir())]
    logs = layout.logs
    return leftovers(*(folder for folder in folders if not folder.is_relative_to(logs)))


def _remove(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        remove_tree(place)
        shutil.rmtree(place, ignore_errors=True)
    else:
        place.unlink(missing_ok=True)
