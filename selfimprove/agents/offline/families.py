"""Which approach family a change belongs to, by what it touches."""

from __future__ import annotations

import re

from selfimprove.agents.offline.values import words_of
from selfimprove.agents.offline.wordlist import words

_TRAINING = words(
    """
    lr learning momentum decay epochs epoch dropout optimizer scheduler warmup gamma beta
    beta1 beta2 lambda regularization hidden layers units heads sgd adam
    """
)
_DATA = words(
    """
    chunk chunks buffer buffering buf read prefetch parse encoding delimiter block page
    indent record records load loader compress compression compresslevel
    """
)
_INFRASTRUCTURE = words(
    """
    worker workers thread threads process processes jobs parallel parallelism concurrency
    pool timeout retries retry interval poll sleep delay flush fsync sync log logging debug
    verbose trace port host lock checkpoint precision
    """
)
_STRUCTURE = words(
    """
    cache cached maxsize cachesize memo memoize lru bucket buckets capacity fanout degree
    branching leaf leafsize factor strategy algorithm engine backend layout index
    """
)
_CONFIG_FILES = re.compile(r"\.(json|toml|ya?ml|ini|cfg|conf|mk|cmake)$|(^|/)(GNU)?[Mm]akefile$")


def family_of_tunable(path: str, name: str) -> str:
    """Choose a family from the taxonomy for a constant, from the words of its name."""
    words = words_of(name)
    if words & _TRAINING or ("batch" in words and "train" in path):
        return "training_config"
    if words & _INFRASTRUCTURE:
        return "infrastructure"
    if words & _STRUCTURE:
        return "architecture"
    if words & _DATA:
        return "data"
    if "batch" in words:
        return "training_config"
    return "infrastructure" if _CONFIG_FILES.search(path) else "optimization"
