"""What candidates could do that nothing here stops, by level: said by `doctor`, never hidden."""

from __future__ import annotations

from dataclasses import dataclass

from selfimprove.room.isolation import Level

LEVELS: tuple[Level, ...] = ("bubblewrap", "landlock", "reduced", "off")
OPEN: tuple[Level, ...] = ("reduced", "off")
INSTALL = "install bubblewrap and allow user namespaces"


@dataclass(frozen=True)
class Unstopped:
    """One thing that is not stopped."""

    name: str
    levels: tuple[Level, ...]
    what: str
    remedy: str


UNSTOPPED = (
    Unstopped(
        "same process",
        LEVELS,
        "a candidate that the benchmark imports shares its memory; in Python the known ways of "
        "putting other code in place of the benchmark's are recognised, reading its closures and "
        "writing its data are not; in other languages nothing is",
        "let the benchmark run the candidate as a program of its own",
    ),
    Unstopped(
        "same user",
        LEVELS,
        "a candidate's process can read the benchmark's command line, variables and whatever files "
        "it can read, reference answers and seeds among them, and read and write its memory",
        "keep answers out of the tree and the benchmark; check properties instead",
    ),
    Unstopped(
        "racing the result",
        LEVELS,
        "a process beside the benchmark can write over {result} after the benchmark wrote it and "
        "before it ends; where that is a Python script, it has to catch the script's report, too",
        "print the result instead",
    ),
    Unstopped(
        "a service's last word",
        ("landlock", *OPEN),
        "a service that runs the candidate's code can write over {result} when it is told to end",
        "print the result instead, or let services run nothing of the candidate",
    ),
    Unstopped(
        "stealing the output",
        LEVELS,
        "a process beside the benchmark can read what it prints out of its pipe before it is read "
        "outside, and print something else",
        "end every process of the candidate before the benchmark prints its score",
    ),
    Unstopped(
        "room on the disk",
        LEVELS,
        "a candidate can take more than sandbox.disk_mb by files without a name, or below paths "
        "that are too long to be looked at",
        "let the disk be large enough, or set a quota",
    ),
    Unstopped(
        "agents at work",
        LEVELS,
        "agents that edit have your variables and the host's network, and the limits of sandbox.* "
        "are not theirs",
        "give the run an environment without what agents must not have",
    ),
    Unstopped(
        "telling the room",
        LEVELS,
        "a candidate can be fast where it is measured and slow elsewhere: no .git, no network, an "
        "empty HOME",
        "read a winner's patch before you take it",
    ),
    Unstopped(
        "telling measuring from editing",
        ("landlock", *OPEN),
        "a candidate can tell by the paths of its tree and of TMPDIR whether it is where it was "
        "written or where it is measured, and be fast there alone",
        INSTALL,
    ),
    Unstopped(
        "network",
        OPEN,
        "a candidate can use the network while it is measured",
        INSTALL,
    ),
    Unstopped(
        "network without connections",
        ("landlock",),
        "a candidate can use the network but for TCP (before Linux 6.7: all of it) while it is "
        "measured; nor can a benchmark use TCP with itself, unless sandbox.network is 'host' or it "
        "has services, and then the network is the host's",
        INSTALL,
    ),
    Unstopped(
        "your files",
        OPEN,
        "agents and candidates can read and write what you can: your checkout, its .git, HOME, the "
        "run's own record",
        f"{INSTALL}, or run as a user of its own",
    ),
    Unstopped(
        "your processes",
        OPEN,
        "agents and candidates can see and kill your processes, this run's among them",
        f"{INSTALL}, or run as a user of its own",
    ),
    Unstopped(
        "seeing your processes",
        ("landlock",),
        "agents and candidates can see your processes and their command lines (before Linux 6.12: "
        "kill them)",
        INSTALL,
    ),
    Unstopped(
        "notes from run to run",
        OPEN,
        "a candidate can leave answers in /tmp, /dev/shm or HOME by their absolute paths",
        f"{INSTALL}, or give the benchmark a {{seed}}",
    ),
    Unstopped(
        "notes in shared memory",
        ("landlock",),
        "a candidate can leave answers in /dev/shm",
        f"{INSTALL}, or give the benchmark a {{seed}}",
    ),
)


def unstopped(level: Level) -> list[Unstopped]:
    """What is not stopped at a level."""
    return [one for one in UNSTOPPED if level in one.levels]
