"""Which other values a constant could have, judged by its kind and its name."""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Sequence

from selfimprove.agents.offline.wordlist import words

MAX_VALUES = 8
_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")

NEVER = words(
    """
    version year month day date port seed pi tau euler e epoch0 id uid gid mode0 errno
    status code exit http mask magic signature red green blue alpha0 width0 color colour dpi
    fig test expected answer price tax vat rate0 kb mb gb hour minute seconds_per inf nan
    eof major minor micro
    """
)
"""Words in a name that say the value is a fact, not a choice."""

WORKLOAD = words(
    """
    n count total num number repeat repeats samples rounds iterations trials items rows
    records users orders target length max min top
    """
)
"""Words that often say how much work is asked for: less of it is no improvement."""

PERFORMANCE = words(
    """
    batch chunk buffer buffering buf cache cached cachesize maxsize block page window pool
    worker workers thread threads parallel parallelism jobs concurrency load factor
    threshold cutoff crossover fanout degree branching bucket buckets capacity prefetch
    queue interval stride unroll tile depth leaf leafsize level compression compress step
    growth resize split lookahead memo memoize lazy fast optimize optimise strategy
    algorithm method engine backend debug verbose trace check checks validate logging log
    profile sync flush fsync indent sort sorted delay sleep poll pollinterval timeout wait
    tolerance precision lr learning momentum epochs dropout beam
    """
)
"""Words of names whose value is often a choice that time depends on."""

SWITCHES = words(
    """
    debug verbose trace check checks validate logging log lazy cache cached memo memoize
    fast optimize optimise sort sorted parallel flush sync fsync use enable enabled disable
    copy deep deepcopy indent lock strict
    """
)

GROWING = words(
    "cache cached maxsize cachesize entries memo memoize lru buffer buffering block chunk "
    "batch page prefetch capacity bufsize"
)
"""Words of sizes that are more often too small than too large."""

CHOICES = (
    ("naive", "fast", "optimized"),
    ("slow", "fast"),
    ("linear", "binary", "hash"),
    ("serial", "parallel"),
    ("sync", "async"),
    ("list", "set", "dict", "deque"),
    ("bubble", "insertion", "selection", "merge", "quick", "heap", "builtin"),
    ("gzip", "zlib", "lzma", "bz2", "none"),
    ("none", "lru"),
    ("dfs", "bfs"),
    ("spawn", "fork", "forkserver"),
    ("sgd", "adam", "adamw"),
    ("float32", "float64"),
)


def words_of(name: str) -> frozenset[str]:
    """Give the words of a name's last part: `Cls.CHUNK_SIZE` holds `chunk` and `size`."""
    return frozenset(word.lower() for word in _WORDS.findall(name.rsplit(".", 1)[-1]))


def is_tunable(name: str) -> bool:
    """Whether a name's value could be another without becoming wrong."""
    return not name.rsplit(".", 1)[-1].startswith("__") and not (words_of(name) & NEVER)


def prior_of(name: str, literal: str) -> float:
    """Say how likely another value under this name is to pay."""
    words = words_of(name)
    if words & PERFORMANCE:
        return 0.6
    if literal in ("True", "False", "true", "false"):
        return 0.45 if words & SWITCHES else 0.15
    if words & WORKLOAD:
        return 0.08
    return 0.25


def numbers(literal: str, name: str = "") -> list[str]:
    """Give other numbers for one, in the way it is written (underscores and exponent aside)."""
    try:
        value = literal_eval(literal)
    except (ValueError, SyntaxError):
        return []
    if isinstance(value, bool) or not isinstance(value, int | float):
        return []
    found: Sequence[int | float]
    if isinstance(value, float):
        found = _floats(value)
    elif value > 0 and words_of(name) & GROWING:
        found = [each for each in _larger(value) if each > 0]
    else:
        found = _integers(value)
    return _distinct([repr(each) for each in found], repr(value))


def switched(literal: str) -> list[str]:
    """Give the other one of two truth values, in the same spelling."""
    other = {"True": "False", "False": "True", "true": "false", "false": "true"}
    more = {"yes": "no", "no": "yes", "on": "off", "off": "on"}
    return [(other | more)[literal]] if literal in other | more else []


def choices(value: str, known: frozenset[str] = frozenset()) -> list[str]:
    """Give other words for one: those the code itself compares it with, else usual companions."""
    if value in known and len(known) <= 12:
        return sorted(known - {value})
    for group in CHOICES:
        if value.lower() in group and value == value.lower():
            return [each for each in group if each != value and (not known or each in known)]
    return []


def _larger(value: int) -> list[int]:
    """Sizes of caches and buffers are tried in strides, so that an effect stands out of noise."""
    return [value * 4, value * 16, value * 64, value * 2, value // 2, value * 256, value // 4]


def _integers(value: int) -> list[int]:
    if value == 0:
        return [1, 2, 4, 8, 16]
    if value < 0:
        return [value * 2, int(value / 2), 0, -value]
    near = [value + 1, value - 1] if value <= 8 else []
    power = 1 << (value - 1).bit_length()
    rounded = [power, power // 2] if power != value and value > 8 else []
    found = [value * 2, value // 2, value * 4, value // 4, *rounded, value * 10, *near, value // 10]
    return [each for each in found if each > 0] + ([0] if value == 1 else [])


def _floats(value: float) -> list[int | float]:
    if value == 0:
        return [0.1, 0.5, 1.0, 0.01]
    rounded = [float(f"{value * by:.6g}") for by in (2, 0.5, 4, 0.25, 10, 0.1)]
    if not 0 < value < 1:
        return [*rounded]
    towards_one = float(f"{(1 + value) / 2:.6g}")
    inside = [each for each in rounded if each < 1]
    at = 1 if value >= 0.4 else len(inside)  # a rate of 0.01 is not a share of a whole
    return [*inside[:at], towards_one, *inside[at:], *[each for each in rounded if each > 1][:1]]


def _distinct(values: list[str], own: str) -> list[str]:
    return [each for each in dict.fromkeys(values) if each != own][:MAX_VALUES]
