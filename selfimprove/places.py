"""Where a run's documents and its private trees lie; pure path arithmetic, nothing is made."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

FOLDER = ".selfimprove"
DEFAULT_TOPIC = "default"
SKILLS = f"{FOLDER}/skills"
"""Where a target repository commits skills of its own."""


def root_of(top: Path, topic: str = DEFAULT_TOPIC) -> Path:
    """The root of a topic inside a target repository."""
    return top / FOLDER / topic


def private_of(root: Path, trees: Path | None = None) -> Path:
    """The run's own directory for trees, the private clone and caches; never below the target."""
    from platformdirs import user_cache_path

    home = trees or user_cache_path("selfimprove")
    root = root.resolve()
    near = root.parents[1].name if root.parent.name == FOLDER else root.name
    digest = sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:12]
    return home.absolute() / f"{near}-{digest}"


def quarantine_of(private: Path) -> Path:
    """The private bare clone."""
    return private / "quarantine.git"
