"""Whoever is asked with a beginning that another is just being asked with, waits for its cache.

Providers keep the beginning of a prompt from the moment in which they begin to answer it. Agents of
one role are asked side by side: without this each of them would pay for the beginning in full.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
import time
from dataclasses import dataclass, field

KEPT_S = 240.0
"""How long a beginning is counted as kept, a little less than the shortest of providers' times."""
PATIENCE_S = 30.0
"""No longer than this is another's answer waited for."""
LEAST = 4000
"""Characters of a beginning that is worth waiting for."""
LOOK_S = 0.02


@dataclass
class Warmth:
    """Which beginnings are kept, or are about to be; safe to use from threads."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    known: dict[str, float] = field(default_factory=dict)
    """Digest -> the moment until which it is kept; 0 while the first is being asked with it."""

    async def turn(self, beginning: str) -> str:
        """Wait while the first is being asked; gives what to call `kept` or `over` with."""
        if len(beginning) < LEAST:
            return ""
        name = hashlib.sha256(beginning.encode("utf-8", "replace")).hexdigest()
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            with self.lock:
                kept = self.known.get(name, -1.0)
                if kept and kept < time.monotonic():
                    self.known[name] = 0.0
                    return name
            if kept:
                break
            await asyncio.sleep(LOOK_S)
        return ""

    def kept(self, name: str) -> None:
        """The first answer has begun: others may be asked."""
        if name:
            with self.lock:
                self.known[name] = time.monotonic() + KEPT_S

    def over(self, name: str) -> None:
        """The first has ended; where no answer ever began, another is the first."""
        with self.lock:
            if name and self.known.get(name) == 0.0:
                del self.known[name]
            now = time.monotonic()
            self.known = {each: at for each, at in self.known.items() if at == 0.0 or at > now}
