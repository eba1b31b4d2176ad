"""A provider's prompt cache, by the rules of the Messages interface, without its expiry.

What is cached is a prefix of the request: its tools, its system text and its messages, block by
block. It is written at the blocks that are marked, and at the last one where the request as a whole
is; it is read from the longest prefix known, looked for at each mark and up to twenty blocks before
it, from the moment in which its answer begins. Prefixes shorter than 1,024 tokens are not cached.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from typing import Any

from selfimprove.testing.models.said import Tokens, count

LEAST = 1024
LOOK_BACK = 20


class Cache:
    """Prefixes by their digest."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._lock = threading.Lock()

    def read(self, blocks: Sequence[dict[str, Any]], *, last: bool) -> tuple[Tokens, set[str]]:
        """Count a request's input; `last` marks the last block too.

        Besides, what it writes: to be `kept` when its answer begins.
        """
        digest, total = hashlib.sha256(), 0
        prefixes: list[tuple[str, int]] = []
        marks = []
        for place, block in enumerate(blocks):
            plain = {key: value for key, value in block.items() if key != "cache_control"}
            text = json.dumps(plain, sort_keys=True)
            digest.update(text.encode())
            total += count(text)
            prefixes.append((digest.hexdigest(), total))
            if "cache_control" in block or (last and place == len(blocks) - 1):
                marks.append(place)
        with self._lock:
            return self._tokens(prefixes, marks, total)

    def keep(self, names: set[str]) -> None:
        """Remember prefixes: the answer to the request that wrote them begins."""
        with self._lock:
            self._known |= names

    def _tokens(
        self, prefixes: list[tuple[str, int]], marks: list[int], total: int
    ) -> tuple[Tokens, set[str]]:
        hit = written = 0
        names = set()
        for mark in marks:
            for place in range(mark, max(-1, mark - LOOK_BACK), -1):
                name, size = prefixes[place]
                if name in self._known:
                    hit = max(hit, size)
                    break
        for mark in marks:
            name, size = prefixes[mark]
            if size >= LEAST:
                names.add(name)
                written = max(written, size)
        written = max(0, written - hit)
        return Tokens(total - hit - written, hit, written), names
