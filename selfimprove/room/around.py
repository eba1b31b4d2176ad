"""The shell script around a command: the services it needs, and who is left behind it.

Services run in the command's own room, so every measurement has fresh ones. What the script tells
goes through a descriptor and is believed only as a whole: a command that writes there, too, is
somebody who should not.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace

from selfimprove.contracts.settings import Service
from selfimprove.process import Outcome

READY_S = 60
"""Seconds that a service may take until it is ready."""
DOWN_S = 5
"""Seconds that services may take to end, all of them."""
UNPROVEN_S = 1
"""A service without `ready` that is still there after so many seconds is taken to be ready."""
LEFT_TURNS = 6
"""What a command leaves running may take this many fiftieths of a second to go by itself."""
UNREADY = 125
"""How the script ends where it did not come to the command."""

_SERVE = """
now() { read -r now _ 2>/dev/null </proc/uptime || now=$(date +%%s); }
tell() { now; echo "$1 $now" >/dev/fd/%(told)d; }
quiet() { /bin/sh -c "$1" </dev/null >>/dev/fd/%(log)d 2>&1; }
gone() {
    kill -0 "$1" 2>/dev/null || return 0
    read -r line 2>/dev/null <"/proc/$1/stat" && case $line in *") Z "*) return 0 ;; esac
    return 1
}
setsid=$(command -v setsid)
serve() {
    $setsid /bin/sh -c "$2" </dev/null >>/dev/fd/%(log)d 2>&1 &
    pid=$! pids="$! $pids" up='' limit=%(ready)d
    [ -n "$3" ] || limit=%(unproven)d
    now; limit=$((${now%%.*} + limit))
    while ! { [ -n "$3" ] && quiet "$3"; }; do
        if [ -z "$up" ] && gone "$pid"; then
            wait "$pid" || fail "$1 ended with $?"
            [ -n "$3" ] || break
            up=1
        fi
        now
        if [ "${now%%.*}" -ge "$limit" ]; then
            [ -z "$3" ] && break
            fail "$1 was not ready within %(ready)d s"
        fi
        sleep 0.02
    done
    [ -z "$4" ] || quiet "$4" || fail "the reset of $1 failed"
}
fail() { echo "unready $1" >/dev/fd/%(told)d; down; exit %(unready)d; }
end() { kill "-$1" "-$2" 2>/dev/null || kill "-$1" "$2" 2>/dev/null; }
down() {
    %(stops)s
    for pid in $pids; do
        case " $stopped " in *" $pid "*) ;; *) end TERM "$pid" ;; esac
    done
    turns=0
    for pid in $pids; do
        until gone "$pid" || [ $turns -ge %(turns)d ]; do
            turns=$((turns + 1))
            sleep 0.02
        done
    done
    for pid in $pids; do end KILL "$pid"; done
    for one in $served; do
        case $one in /proc/1 | /proc/$$) ;; *) kill -KILL "${one#/proc/}" 2>/dev/null ;; esac
    done
    wait
}
tell began
%(starts)s
%(served)s
tell ready
"""
"""Starts each service, waits until it is ready, puts it into its state, and later ends them all.
Whatever runs when the last one is ready belongs to them."""

_COUNT = f"""
set -- /proc/[0-9]*
if [ $# -gt 2 ]; then
    for _ in {" ".join(str(turn) for turn in range(LEFT_TURNS))}; do
        /bin/sleep 0.02
        set -- /proc/[0-9]*
        [ $# -le 2 ] && break
    done
fi
[ -z "$before" ] || [ "$before" = "$(cksum /tmp/result 2>&1)" ] || set -- "$@" changed
echo $(($# - 2)) >/dev/fd/%d
"""
"""Counts who is left besides the namespace's first process and this one; whoever changes the
result meanwhile is counted, too."""

_BEFORE = """
before=''
set -- /proc/[0-9]*
[ $# -gt 2 ] && before=$(cksum /tmp/result 2>&1)
"""


@dataclass(frozen=True)
class Channels:
    """Descriptors that the script is given."""

    told: int
    log: int = -1
    """Takes what services print."""


@dataclass(frozen=True)
class Told:
    """What the script told."""

    left: int = 0
    """Processes that the command left, somebody who wrote beside the script counted as one."""
    beside_s: float = 0.0
    """Seconds that were the services', before the command and behind it."""
    unready: str = ""
    """Why it did not come to the command."""


def others_time(services: Sequence[Service]) -> float:
    """Seconds that a command's services may take beside it."""
    return (READY_S + DOWN_S) * len(services)


def around(
    command: Sequence[str], channels: Channels, services: Sequence[Service], contained: bool
) -> tuple[str, ...]:
    """The command with its services, and the count of what it left where a namespace allows it.

    The script heeds no TERM, so that the command has its grace.
    """
    if not services and not contained:
        return tuple(command)
    parts = ["trap : TERM INT"]
    if services:
        parts.append(_serving(services, channels, contained))
    parts.append('"$@"\ncode=$?')
    if contained:
        parts.append(_BEFORE)
    if services:
        parts.append("tell ended\ndown\ntell down")
    if contained:
        parts.append(_COUNT % channels.told)
    return ("/bin/sh", "-c", "\n".join([*parts, "exit $code"]), "sh", *command)


def _serving(services: Sequence[Service], channels: Channels, contained: bool) -> str:
    starts, stops = [], []
    for index, one in enumerate(services):
        name = f"the service {one.name!r}"
        words = [name, one.start, one.ready, one.reset]
        starts.append(f"serve {' '.join(map(shlex.quote, words))}\npid_{index}=$pid")
        if one.stop:
            stops.append(f'quiet {shlex.quote(one.stop)}; stopped="$stopped $pid_{index}"')
    return _SERVE % {
        "told": channels.told,
        "log": channels.log,
        "ready": READY_S,
        "unproven": UNPROVEN_S,
        "unready": UNREADY,
        "turns": DOWN_S * 50,
        "starts": "\n".join(starts),
        "stops": "\n    ".join([*reversed(stops), ":"]),
        "served": "served=$(echo /proc/[0-9]*)" if contained else "",
    }


_TIME = rb"(\d+(?:\.\d+)?)"
_WHOLE = re.compile(rb"began %(t)s\nready %(t)s\nended %(t)s\ndown %(t)s\n" % {b"t": _TIME})
_STARTED = re.compile(rb"began %(t)s\nready %(t)s\n(?:ended %(t)s\n)?" % {b"t": _TIME})
_UNREADY = re.compile(rb"began %(t)s\nunready ([^\n]*)\n" % {b"t": _TIME})
_COUNTED = re.compile(rb"(\d+)\n")


def told(said: bytes, services: bool) -> Told:
    """Read what the script wrote; more than it can have written was somebody else's."""
    beside = 0.0
    if services:
        whole, started = _WHOLE.match(said), _STARTED.fullmatch(said)
        if found := _UNREADY.fullmatch(said):
            return Told(unready=found[2].decode("utf-8", "replace"))
        if re.fullmatch(rb"(began %s\n)?" % _TIME, said):
            return Told(unready="the services were not ready in time")
        if whole:
            began, ready, ended, down = map(float, whole.groups())
            beside, said = ready - began + down - ended, said[whole.end() :]
        elif started:
            return Told(beside_s=float(started[2]) - float(started[1]))
        else:
            return Told(left=max(1, said.count(b"\n") - 4))
    if not said:
        return Told(beside_s=beside)  # it was ended before it came so far
    if count := _COUNTED.fullmatch(said):
        return Told(int(count[1]), beside)
    return Told(max(1, said.count(b"\n") - 1), beside)


def judged(outcome: Outcome, found: Told, timeout: float | None) -> Outcome:
    """How the command itself ended, the time of its services taken off."""
    own = max(outcome.duration_s - found.beside_s, 0.0)
    judged = replace(outcome, duration_s=own, unready=found.unready)
    if found.unready:
        said = outcome.stderr + found.unready.encode() + b"\n"
        return replace(judged, stderr=said, timed_out=False, exit_code=UNREADY)
    if timeout is not None and own > timeout and not outcome.timed_out:
        return replace(judged, timed_out=True, exit_code=None)
    return judged
