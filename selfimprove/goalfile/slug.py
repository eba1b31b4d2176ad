"""The goal's slug, which names branches and tags."""

from __future__ import annotations

import hashlib
import re
import unicodedata


def slugify(objective: str) -> str:
    """First line, NFKD to ASCII lower case, runs of anything else to `_`, at most 40 characters."""
    first = next((line for line in objective.splitlines() if line.strip()), "")
    decomposed = unicodedata.normalize("NFKD", first).lower()
    letters = "".join(char for char in decomposed if not unicodedata.combining(char))
    slug = re.sub(r"[^a-z0-9]+", "_", letters).strip("_")[:40].rstrip("_")
    return slug or "goal_" + hashlib.sha256(objective.encode()).hexdigest()[:6]
