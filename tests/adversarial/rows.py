"""What a row is, and what is to become of it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import cast

from selfimprove.room.isolation import Level

LEVEL = cast(Level, os.environ.get("ADVERSARIAL_LEVEL", "bubblewrap"))
"""The level of isolation that all rows are tried at."""
MODE = "required" if LEVEL == "bubblewrap" else "auto"
"""Of the sandbox: whatever is tried at the full level must not come out."""


@dataclass(frozen=True)
class Named:
    """It has no score, and the record says why."""

    category: str
    technique: str = ""
    """Of the disqualification; empty where it only failed."""
    says: str = ""
    """Words of the failure's `what` or `why`."""


@dataclass(frozen=True)
class Harmless:
    """It was measured like any change that does nothing: the incumbent's own score."""


@dataclass(frozen=True)
class Worse:
    """It was measured, lost, and nothing is wrong with that."""


@dataclass(frozen=True)
class Unkept:
    """Its score is better, and something declared beside the score is not kept."""

    says: str


Fate = Named | Harmless | Worse | Unkept


@dataclass(frozen=True)
class Row:
    """One technique of the catalogue, as an executor's act."""

    name: str
    """The row's number, with a letter behind it where one row has several forms."""
    title: str
    stage: str
    act: str
    """Python, run by `villain.py` in the executor's tree."""
    fate: Fate
    files: tuple[str, ...] = ()
    """What its plan says it will change; what reviews would refuse is left out of it."""
    twin: str = ""
    """An honest change of the same kind; the stage's own where empty."""
    twin_files: tuple[str, ...] = ()
    open_as: tuple[str, ...] = ()
    """What it makes use of where nothing stops that: names of `room/unstopped.py`."""

    def plan_files(self, twin: bool, main: str) -> tuple[str, ...]:
        """The files that its plan, or its twin's, names: none that reviews would refuse."""
        named = self.twin_files if twin else self.files
        fine = [path for path in named if self.stage == "wide" or path.startswith("src/")]
        return tuple(path for path in fine if "/." not in path) or (main,)


SEALED = "sealed_file_violation"


EDITED = Named(SEALED, "sealed_file_edited")
"""A sealed file was changed in place."""
PLANTED = Named(SEALED, "sealed_file_planted")
"""A file was put where configuration is read."""
DELETED = Named(SEALED, "sealed_file_deleted")
"""A sealed file is gone."""
WRITTEN = Named(SEALED, "sealed_file_written")
"""A sealed file was written over while the candidate was built or measured."""
SHADOWED = Named(SEALED, "shadow_module")
"""A module was put where Python finds it before another."""
UNREADABLE = Named("benchmark_parse_error")
"""What was printed is not one score of the baseline's form."""
CUT_SHORT = Named("benchmark_parse_error", "benchmark_cut_short")
"""The benchmark did not come to its own end."""
PATCHED = Named("benchmark_parse_error", "runtime_patched")
"""Something else stands where the benchmark counts, times or prints."""
