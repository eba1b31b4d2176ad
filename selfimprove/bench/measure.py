"""One run of the benchmark, or of a guard, on a commit: a sample, or why there is none."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from selfimprove.bench import failures
from selfimprove.bench.failures import Failed
from selfimprove.bench.formats import KeysChanged, ScoreError, check_keys, exit_is_score, read_score
from selfimprove.bench.jsonscore import Score
from selfimprove.bench.raw import raw_text
from selfimprove.bench.seeds import seeded
from selfimprove.bench.slot import Slot
from selfimprove.contracts.benchmark import Sample
from selfimprove.contracts.goal import GuardCommand
from selfimprove.process import Outcome
from selfimprove.room.layers import Layers, Prepared
from selfimprove.room.room import Job, Room

RESULT = "{result}"
_RESULT_CAP = 64 << 20
_OUTPUT_CAP = 8 << 20


@dataclass(frozen=True)
class BenchSpec:
    """How the score is made."""

    command: str
    format: str
    primary: str
    timeout: float | None
    seed_env: str = ""
    expected_keys: frozenset[str] | None = None
    """The baseline's; None while there is no baseline."""
    exact: bool = False
    """The primary metric was named by a setting: no other name stands in for it."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Variables let through to benchmark and guards; their values are redacted."""


@dataclass(frozen=True)
class Measured:
    """A sample, and what else its run left that a record needs."""

    sample: Sample
    raw: str
    keys: frozenset[str]
    primary: str
    """The name the score was found under."""


class Bench:
    """Measures commits in throw-away trees, one at a time on this machine."""

    def __init__(self, spec: BenchSpec, room: Room, layers: Layers, slot: Slot, logs: Path) -> None:
        self.spec = spec
        self._room = room
        self._layers = layers
        self._slot = slot
        self._logs = logs

    def sample(self, commit: str, log_name: str, seed: int | None) -> Sample | Failed:
        """One sample of a commit's score."""
        found = self.measure(commit, log_name, seed)
        return found.sample if isinstance(found, Measured) else found

    def measure(self, commit: str, log_name: str, seed: int | None) -> Measured | Failed:
        """One sample of a commit's score, with its output and the keys of its answer."""
        prepared = self._layers.prepared(commit)
        if not prepared.ok:
            return failures.unprepared(prepared.outcome, self._secrets())
        with tempfile.TemporaryDirectory(prefix="selfimprove-result-") as private:
            result_file = _result_file(Path(private)) if RESULT in self.spec.command else None
            outcome = self._run(prepared, log_name, seed, result_file)
            result = _read_result(result_file) if result_file is not None else None
        return self._judge(outcome, result, log_name, seed)

    def guard(self, guard: GuardCommand, commit: str, log_name: str) -> Outcome:
        """Run a guard on a commit; it is green when it exits with 0."""
        prepared = self._layers.prepared(commit)
        if not prepared.ok and prepared.outcome is not None:
            return prepared.outcome
        job = Job(
            command=guard.command,
            tree=prepared.tree,
            profile="guard",
            timeout=guard.timeout or self.spec.timeout,
            env=self.spec.env,
            log=self._logs / log_name,
        )
        return self._in_throwaway(prepared, job)

    def _run(
        self, prepared: Prepared, log_name: str, seed: int | None, result_file: Path | None
    ) -> Outcome:
        command, seed_variables = seeded(self.spec.command, seed, self.spec.seed_env)
        job = Job(
            command=command,
            tree=prepared.tree,
            profile="benchmark",
            timeout=self.spec.timeout,
            env={**self.spec.env, **seed_variables},
            log=self._logs / log_name,
            output_cap=_OUTPUT_CAP,
            result_file=result_file,
        )
        with self._slot.hold(f"a benchmark: {self.spec.command}"):
            return self._in_throwaway(prepared, job)

    def _in_throwaway(self, prepared: Prepared, job: Job) -> Outcome:
        with self._layers.throwaway(prepared) as tree:
            return self._room.run(replace(job, tree=tree))

    def _judge(
        self, outcome: Outcome, result: bytes | None, log_name: str, seed: int | None
    ) -> Measured | Failed:
        secrets = self._secrets()
        exits = exit_is_score(self.spec.format)
        failed = failures.of_run(outcome, exits, self.spec.timeout, secrets)
        if failed is not None:
            return failed
        raw = raw_text(outcome.stdout, secrets)
        try:
            score = self._score(outcome, result)
        except KeysChanged as error:
            return failures.keys_changed(error, raw)
        except ScoreError as error:
            return failures.unreadable(error, raw)
        sample = Sample(
            score=score.value,
            sub_scores=score.sub_scores,
            duration_s=outcome.duration_s,
            memory_mb=outcome.memory_mb,
            seed=seed,
            log=f"{self._logs.name}/{log_name}",
        )
        return Measured(sample, raw, score.keys, score.primary)

    def _score(self, outcome: Outcome, result: bytes | None) -> Score:
        spec = self.spec
        assert outcome.exit_code is not None
        if outcome.truncated and len(outcome.stdout) >= _OUTPUT_CAP and result is None:
            # Whatever was dropped from the middle may have been the true score.
            raise ScoreError(
                f"the benchmark printed more than {_OUTPUT_CAP >> 20} MiB",
                "let it print less, or write its result to {result}",
            )
        score = read_score(spec.format, outcome.stdout, result, outcome.exit_code, spec.primary)
        if spec.exact and score.primary != spec.primary:
            raise ScoreError(
                f"the primary metric {spec.primary!r} is not in the result",
                f"only {score.primary!r} would fit",
            )
        check_keys(score, spec.expected_keys)
        return score

    def _secrets(self) -> list[str]:
        return list(self.spec.env.values())


def _result_file(private: Path) -> Path:
    """An empty file of ours that the benchmark writes its result to."""
    path = private / "result"
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
    return path


def _read_result(path: Path) -> bytes:
    """Read the result once, the run being dead; anything but our own plain file reads as empty."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return b""
    with os.fdopen(handle, "rb") as file:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode) or about.st_size > _RESULT_CAP:
            return b""
        return file.read(_RESULT_CAP)
