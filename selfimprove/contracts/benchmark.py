"""Benchmark result and failure analysis (data contracts, sections 2 and 7), and measurements."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, ClassVar, Literal

from pydantic import Field

from selfimprove.contracts.base import Record, Sha256

Category = Literal[
    "oom",
    "timeout",
    "regression",
    "logic_error",
    "scope_error",
    "infrastructure",
    "benchmark_parse_error",
    "sealed_file_violation",
]
INCUMBENT = "incumbent"
"""What the incumbent's runs go by where a candidate's go by its executor."""
HowRun = Literal["", "in-process", "apart", "unknown"]
"""Whether a benchmark runs the candidate inside its own process, where nothing outside can wholly
defend it."""
ResultStatus = Literal["success", "regression", "error", "timeout"]


class FailureAnalysis(Record):
    """Why an attempt did not help, for the planners after it."""

    what: str
    why: str
    category: Category
    lesson: str


class Disqualification(Record):
    """A candidate that moved the number instead of the thing measured."""

    technique: str
    evidence: str


class Inside(Record):
    """What a Python benchmark's own process was at the baseline, as its bootstrap told."""

    files: list[str]
    """Files of the tree that it had loaded, from where the benchmark starts."""
    patched: list[str]
    """Functions that were not the ones they came with."""
    searched: list[str] = Field(default_factory=list)
    """Folders of the tree in which it looked for modules, each with a slash behind it."""
    ended_by: list[str] = Field(default_factory=list)
    """Files of the tree through which it was ended by an exit."""
    writes_late: bool = False
    """The result is not yet whole when the main script ends."""


class Sample(Record):
    """One run of the benchmark."""

    additions: ClassVar[frozenset[str]] = frozenset({"sub_scores", "seed", "raw", "log"})

    score: float
    sub_scores: dict[str, float] = Field(default_factory=dict)
    duration_s: float
    """Wall-clock seconds of the whole process tree."""
    memory_mb: float = 0.0
    """Peak resident memory of the tree, in MiB, as far as it was watched."""
    seed: int | None = None
    log: str = ""
    """Path of the whole output below the root."""


class Binding(Record):
    """What one sample was measured of: it cannot be put to another commit's account."""

    commit: str
    tree: str
    """Of the commit."""
    benchmark: Sha256
    """Command, format, metric and sealed files: the fingerprint's."""
    settings: Sha256
    """The fingerprint's."""
    nonce: str
    """Drawn for this run alone."""
    seal: Sha256
    """Over all of these and the sample's numbers."""

    @classmethod
    def of(cls, sample: Sample, **facts: str) -> Binding:
        """The binding of a sample to these facts."""
        return cls(**facts, seal=sealed(sample, facts))

    def holds(self, sample: Sample) -> bool:
        """Whether it was made for this very sample, and nothing of it was changed since."""
        return self.seal == sealed(sample, self.model_dump(exclude={"seal"}))


def sealed(sample: Sample, facts: Mapping[str, str]) -> Sha256:
    """SHA-256 over the facts and a sample's numbers, as canonical JSON."""
    numbers = [sample.score, sample.sub_scores, sample.seed]
    return sha256(json.dumps([dict(facts), numbers], sort_keys=True).encode()).hexdigest()


class Fingerprint(Record):
    """What two measurements must share to be comparable."""

    additions: ClassVar[frozenset[str]] = frozenset({"network", "candidate"})

    protocol: int
    """Number of the measuring protocol; raised when how it is measured changes."""
    machine: Sha256
    environment: Sha256
    benchmark: Sha256
    settings: Sha256
    level: str
    """Isolation level: `bubblewrap`, `landlock`, `reduced`, `off`."""
    network: str = ""
    """What of the network it was let at; empty for nothing."""
    candidate: HowRun = ""
    """How the benchmark was seen to run the candidate."""


class Measurement(Record):
    """The samples behind a score."""

    additions: ClassVar[frozenset[str]] = frozenset({"interval"})

    samples: list[Sample]
    interval: tuple[float, float] | None = None
    fingerprint: Fingerprint


class Assertion(Record):
    """What a plan said would be true of its candidate, and whether it was."""

    additions: ClassVar[frozenset[str]] = frozenset({"holds", "why"})

    text: str
    holds: bool | None = None
    """Left out where nobody can tell."""
    why: str = ""
    """The values that made it false, or why nobody can tell."""


class BenchmarkResult(Record):
    """What became of one executor's candidate before the tournament."""

    additions: ClassVar[frozenset[str]] = frozenset(
        {"disqualification", "measurement", "claim", "assertions"}
    )

    executor_id: str
    plan_id: str
    benchmark_score: float | None
    """Null where nothing was measured."""
    benchmark_raw: str
    """Standard output, UTF-8 with replacement, redacted, at most 64 KiB (head and tail)."""
    status: ResultStatus
    sub_scores: dict[str, float] = Field(default_factory=dict)
    failure_analysis: FailureAnalysis | None = None
    timestamp: str
    disqualification: Disqualification | None = None
    measurement: Measurement | None = None
    claim: dict[str, Any] | None = None
    """What the agent said of its own work: stored, never used."""
    assertions: list[Assertion] = Field(default_factory=list)
    """The plan's, held against what was measured."""


class Canary(Record):
    """A change whose verdict is known before it is tried, and what the benchmark made of it."""

    additions: ClassVar[frozenset[str]] = frozenset({"score"})

    name: str
    grade: Literal["ok", "note", "problem"]
    text: str
    score: float | None = None
    """What it was measured with, where it was."""


class Pair(Record):
    """Incumbent and candidate measured one after the other."""

    incumbent: Sample
    candidate: Sample
    candidate_first: bool
    """The order alternates, so that drift favours neither."""
