"""What candidates could do that nothing here stops, by level: said by `doctor`, never hidden."""

from __future__ import annotations

from dataclasses import dataclass

from selfimprove.room.isolation import Level

LEVELS: tuple[Level, ...] = ("bubblewrap", "reduced", "off")


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
        "abusing that are recognised, in other languages none",
        "let the benchmark run the candidate as a program of its own",
    ),
    Unstopped(
        "same user",
        LEVELS,
        "a candidate's process can read the benchmark's command line, variables, memory and "
        "whatever files it can read, reference answers and seeds among them",
        "keep answers out of the tree and the benchmark; check properties instead",
    ),
    Unstopped(
        "racing the result",
        LEVELS,
        "a process beside the benchmark can write over {result} after the benchmark wrote it and "
        "before it ends, where the benchmark is not a Python script",
        "print the result instead",
    ),
    Unstopped(
        "telling the room",
        LEVELS,
        "a candidate can be fast where it is measured and slow elsewhere: no .git, no network, an "
        "empty HOME",
        "read a winner's patch before you take it",
    ),
    Unstopped(
        "network",
        ("reduced", "off"),
        "a candidate can use the network while it is measured",
        "install bubblewrap and allow user namespaces",
    ),
    Unstopped(
        "your files",
        ("reduced", "off"),
        "agents and candidates can read and write what you can: your checkout, its .git, HOME, the "
        "run's own record",
        "install bubblewrap and allow user namespaces, or run as a user of its own",
    ),
    Unstopped(
        "your processes",
        ("reduced", "off"),
        "agents and candidates can see and kill your processes, this run's among them",
        "install bubblewrap and allow user namespaces, or run as a user of its own",
    ),
    Unstopped(
        "notes from run to run",
        ("reduced", "off"),
        "a candidate can leave answers in /tmp, /dev/shm or HOME by their absolute paths",
        "install bubblewrap and allow user namespaces, or give the benchmark a {seed}",
    ),
)


def unstopped(level: Level) -> list[Unstopped]:
    """What is not stopped at a level."""
    return [one for one in UNSTOPPED if level in one.levels]
