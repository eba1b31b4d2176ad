"""The machine's cores: which a measurement is held to, and whether other programs take them all.

What is asked is how many threads want a core at this moment: a load average lags by a minute and
counts the measurement before. A moment says nothing, so a look is repeated before it is believed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from selfimprove.errors import ConfigError

if TYPE_CHECKING:
    from selfimprove.process import StopToken

LOOKS, APART_S, POLL_S = 5, 0.1, 1.0
_STAT = Path("/proc/stat")


def cores(asked: str | list[int]) -> frozenset[int]:
    """The cores that a measurement is held to; empty where it is not, or where that cannot be done.

    Raises ConfigError for a core that this process may not use.
    """
    if asked == "off" or not hasattr(os, "sched_getaffinity"):
        return frozenset()
    allowed = os.sched_getaffinity(0)
    if isinstance(asked, str):
        return frozenset({max(allowed)})  # the first ones serve most of the machine's interrupts
    missing = sorted(set(asked) - allowed)
    if missing:
        raise ConfigError(
            f"benchmark_cpus: there is no core {missing[0]} for this process",
            f"name some of {', '.join(map(str, sorted(allowed)))}",
        )
    return frozenset(asked)


class Load:
    """Waits until a core is free, up to `most_s` seconds; after a wait in vain it waits no more
    until a core has been free in between, so that a machine that is always busy costs it once."""

    def __init__(
        self,
        most_s: float,
        say: Callable[[str], None],
        cores: int | None = None,
        others: Callable[[], float] | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._most_s = most_s
        self._say = say
        self._cores = cores or os.cpu_count() or 1
        self._others = others or runnable
        self._sleep = sleep
        self._in_vain = False

    def wait(self, stop: StopToken) -> None:
        """Return when a core is free, or when that took too long; raises Stopped."""
        waited = 0.0
        while self._most_s > 0 and self._taken():
            if self._in_vain:
                return
            if waited >= self._most_s:
                self._in_vain = True
                self._say(
                    f"no core has become free in {waited:.0f} s: measuring beside other work, "
                    "so expect more noise"
                )
                return
            if not waited:
                self._say(
                    f"other programs take all {self._cores} cores: waiting for one, "
                    f"{self._most_s:.0f} s at most (benchmark_load_wait)"
                )
            stop.raise_if_set()
            self._sleep(POLL_S)
            waited += POLL_S
        self._in_vain = False

    def _taken(self) -> bool:
        for look in range(LOOKS):
            if look:
                self._sleep(APART_S)
            if self._others() < self._cores:
                return False
        return True


def runnable() -> float:
    """Threads of the whole machine that run or want to, this one aside; elsewhere than on Linux
    the load average of a minute stands for it."""
    try:
        for line in _STAT.read_text().splitlines():
            if line.startswith("procs_running "):
                return float(line.split()[1]) - 1
    except OSError:
        pass
    return os.getloadavg()[0]
