"""One run of the benchmark, or of a guard, on a commit: a sample, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from selfimprove.bench import failures
from selfimprove.bench.failures import Failed
from selfimprove.bench.formats import (
    KeysChanged,
    ScoreError,
    check_keys,
    check_mentions,
    exit_is_score,
    mentions,
    read_score,
)
from selfimprove.bench.inside import (
    Told,
    Trusted,
    bootstrapped,
    learnt,
    new_nonce,
    program,
    read_report,
    wrong_with,
)
from selfimprove.bench.jsonscore import Score
from selfimprove.bench.opened import Watch
from selfimprove.bench.raw import raw_text
from selfimprove.bench.seeds import seeded
from selfimprove.bench.slot import Slot
from selfimprove.bench.verdicts import beyond, left_out, left_running, written_over
from selfimprove.contracts.base import Sha256
from selfimprove.contracts.benchmark import Binding, Disqualification, Inside, Sample
from selfimprove.contracts.goal import GuardCommand
from selfimprove.process import Outcome
from selfimprove.room.environ import Profile
from selfimprove.room.files import RESULT_CAP
from selfimprove.room.job import Job, Layered
from selfimprove.room.layers import Layers
from selfimprove.room.room import Room

RESULT = "{result}"
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
    profile: Profile = "benchmark"
    exact: bool = False
    """The primary metric was named by a setting: no other name stands in for it."""
    settled: bool = False
    """There is a baseline, and what follows was learnt from it."""
    left_behind: int = 0
    """Processes that the baseline left running."""
    mentions: int | None = None
    """Lines that spoke of the score in the baseline's output, at most; None: not known."""
    found_as: str = ""
    """The name that the score had there."""
    inside: Inside | None = None
    """What the baseline's own process was; None where no bootstrap can follow it."""
    trusted: Trusted = field(default_factory=lambda: Trusted(()))
    tests: Mapping[str, float] = field(default_factory=dict)
    """Of a test report: how many tests the baseline ran, and skipped."""
    bound: float | None = None
    """A score better than this is not believed."""
    lower_is_better: bool = True
    warmup: int = 0
    """Runs before each measured one, in throw-away trees of their own."""
    halted: bool = False
    """Each run sleeps for half of the time: a canary."""
    cpus: frozenset[int] = frozenset()
    """Cores that each run is held to, where any are named."""
    digests: tuple[Sha256, Sha256] = ("", "")
    """Of the benchmark and of the settings, as in the fingerprint."""
    env: Mapping[str, str] = field(default_factory=dict)
    """The variables that the room lets through; here for their values, redacted in records."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no record may show."""
        return tuple(self.env.values())


@dataclass(frozen=True)
class Measured:
    """A sample, and what else its run left that a record needs."""

    sample: Sample
    raw: str
    keys: frozenset[str]
    primary: str
    """The name the score was found under."""
    left_behind: int = 0
    inside: Inside | None = None
    nonce: str = ""
    """Of its run."""
    mentions: int = 0
    """Lines of the output that speak of the score."""
    bound: Binding | None = None
    """What it was measured of."""


def bound(*found: Measured) -> dict[str, Any]:
    """What measurements were made of, for their envelope: one, or those of a pair in its order."""
    bindings = [each.bound.document() for each in found if each.bound]
    if len(bindings) < len(found):
        return {}
    return {"bound": bindings if len(bindings) > 1 else bindings[0]}


@dataclass(frozen=True)
class Running:
    """One command about to run in one tree."""

    tree: Path | Layered
    log_name: str
    seed: int | None
    result_file: Path | None
    command: str
    nonce: str = ""
    """Of the bootstrap, where there is one."""


@dataclass(frozen=True)
class Ran:
    """How one run ended, and what it left for its score."""

    outcome: Outcome
    result: bytes | None
    nonce: str
    """Of this run alone."""
    followed: bool
    """The bootstrap reports, under the nonce."""


class Bench:
    """Measures commits in throw-away trees, one at a time on this machine."""

    def __init__(self, spec: BenchSpec, room: Room, layers: Layers, slot: Slot, logs: Path) -> None:
        self.spec = spec
        self._room = room
        self._layers = layers
        self._slot = slot
        self._logs = logs
        self._base_writes: frozenset[str] | None = None
        """Sealed files that the base's own run writes over; found out when it matters."""

    @property
    def slot(self) -> Slot:
        """The machine-wide measuring slot: hold it to measure several commits as one."""
        return self._slot

    def sample(self, commit: str, log_name: str, seed: int | None) -> Sample | Failed:
        """One sample of a commit's score."""
        found = self.measure(commit, log_name, seed)
        return found.sample if isinstance(found, Measured) else found

    def other(self, spec: BenchSpec) -> Bench:
        """Another benchmark in the same room, for the same commits."""
        return Bench(spec, self._room, self._layers, self._slot, self._logs)

    def measure(
        self, commit: str, log_name: str, seed: int | None, anew: str = ""
    ) -> Measured | Failed:
        """One sample of a commit's score, with its output and the keys of its answer.

        `anew` names a build of its own, made from nothing and kept for others of that name.
        """
        prepared = self._layers.prepared(commit, anew)
        if not prepared.ok:
            return failures.unprepared(prepared, self.spec.secrets)
        with self._slot.hold(f"a benchmark: {self.spec.command}"):
            for _ in range(self.spec.warmup):
                # in a tree of its own: what it leaves there could answer for the measured run
                with self._layers.throwaway(prepared) as tree:
                    self._run_in(tree, log_name, seed, followed=True)
            with self._layers.throwaway(prepared) as tree:
                found = self._measured_in(tree, log_name, seed)
                found = self._unwritten(found, self._layers.written(tree, prepared))
                return self._bound(commit, found)

    def _unwritten(self, found: Measured | Failed, written: frozenset[str]) -> Measured | Failed:
        """A sample, unless its run wrote over sealed files that the base's own run leaves alone."""
        if not written or isinstance(found, Failed) or not self.spec.settled:
            return found
        if self._base_writes is None:
            self._base_writes = self._written_by_base()
        written -= self._base_writes
        return failures.disqualified(written_over(written), found.raw) if written else found

    def _written_by_base(self) -> frozenset[str]:
        assert self._layers.overlay is not None
        prepared = self._layers.prepared(self._layers.overlay.base_commit)
        with self._layers.throwaway(prepared) as tree:
            self._run_in(tree, "round_0/written.log", 0, followed=True)
            return self._layers.written(tree, prepared)

    def _measured_in(
        self, tree: Path | Layered, log_name: str, seed: int | None
    ) -> Measured | Failed:
        ran = self._run_in(tree, log_name, seed, followed=True)
        found = self._judge(ran, log_name, seed)
        if (
            not self.spec.settled
            and ran.followed
            and (isinstance(found, Failed) or not found.inside)
        ):
            # it cannot be followed: a Python too old, a program that drops what it is given
            found = self._judge(self._run_in(tree, log_name, seed, False), log_name, seed)
        return found

    def _bound(self, commit: str, found: Measured | Failed) -> Measured | Failed:
        """A sample tied to the commit that was measured, so that it is told of no other."""
        if isinstance(found, Failed):
            return found
        bound = Binding.of(
            found.sample,
            commit=commit,
            tree=self._layers.quarantine.tree_oid(commit),
            benchmark=self.spec.digests[0],
            settings=self.spec.digests[1],
            nonce=found.nonce,
        )
        return replace(found, bound=bound)

    def _run_in(self, tree: Path | Layered, log_name: str, seed: int | None, followed: bool) -> Ran:
        """Run the benchmark once, where it can be followed with its bootstrap."""
        command, nonce = self.spec.command, new_nonce()
        followed = followed and bool(self.spec.inside or not self.spec.settled)
        with_bootstrap = bootstrapped(command) if followed else ""
        command = with_bootstrap or command
        with self._layers.aside() as private:
            result_file = private / "result" if RESULT in self.spec.command else None
            told = nonce if with_bootstrap else ""
            outcome = self._run(Running(tree, log_name, seed, result_file, command, told))
            result = _read_result(result_file) if result_file else None
            return Ran(outcome, result, nonce, bool(told))

    def watched(
        self, commit: str, log_name: str, seed: int | None
    ) -> tuple[Measured | Failed, dict[str, Any]]:
        """One sample in a private copy, and which of the commit's files the run opened."""
        prepared = self._layers.prepared(commit)
        if not prepared.ok:
            return failures.unprepared(prepared, self.spec.secrets), {}
        with self._layers.copied(prepared) as tree:
            watch = Watch(tree)
            found = self._bound(commit, self._measured_in(tree, log_name, seed))
            opened = watch.opened()
        files = (path for path in opened.files if not path.startswith(".git/"))
        seen: dict[str, Any] = {"opened": sorted(files)}
        if not opened.known:
            seen["opened_unknown"] = opened.reason
        return found, seen

    def answer_of(self, command: str, commit: str, log_name: str, seed: int | None) -> bytes:
        """What another command writes to `{result}` in a commit's tree; empty where nothing."""
        prepared = self._layers.prepared(commit)
        if not prepared.ok:
            return b""
        with self._layers.throwaway(prepared) as tree, self._layers.aside() as private:
            result_file = private / "result"
            self._run(Running(tree, log_name, seed, result_file, command))
            return _read_result(result_file)

    def guard(self, guard: GuardCommand, commit: str, log_name: str, stdin: bytes = b"") -> Outcome:
        """Run a guard on a commit; it is green when it exits with 0."""
        prepared = self._layers.prepared(commit)
        if not prepared.ok and prepared.outcome is not None:
            return prepared.outcome
        with self._layers.throwaway(prepared) as tree:
            job = Job(
                command=guard.command,
                tree=tree,
                profile="guard",
                timeout=guard.timeout or self.spec.timeout,
                stdin=stdin,
                log=self._logs / log_name,
            )
            return self._room.run(job)

    def _run(self, running: Running) -> Outcome:
        command, seed_variables = seeded(running.command, running.seed, self.spec.seed_env)
        job = Job(
            command=command,
            tree=running.tree,
            profile=self.spec.profile,
            timeout=self.spec.timeout,
            env=seed_variables,
            log=self._logs / running.log_name,
            output_cap=_OUTPUT_CAP,
            cpus=self.spec.cpus,
            halted=self.spec.halted,
            result_file=running.result_file,
            program=program(running.nonce) if running.nonce else b"",
        )
        with self._slot.hold(f"a benchmark: {self.spec.command}"):
            return self._room.run(job)

    def _judge(self, ran: Ran, log_name: str, seed: int | None) -> Measured | Failed:
        outcome, spec = ran.outcome, self.spec
        if outcome.unready:
            return failures.not_ready(outcome, spec.settled, spec.secrets)
        exits = exit_is_score(spec.format)
        failed = failures.of_run(outcome, exits, spec.timeout, spec.secrets)
        if failed is not None:
            return failed
        raw = raw_text(outcome.stdout, spec.secrets)
        told = read_report(outcome.report, ran.nonce) if ran.followed else None
        if cheat := self._cheat(ran, told):
            return failures.disqualified(cheat, raw)
        try:
            check_mentions(self._mentions(ran, spec.found_as), spec.mentions)
            score = self._score(outcome, ran.result)
        except KeysChanged as error:
            return failures.keys_changed(error, raw)
        except ScoreError as error:
            return failures.unreadable(error, raw)
        numbers = {**score.sub_scores, score.primary: score.value}
        cheat = beyond(score.value, spec.bound, spec.lower_is_better)
        if cheat := cheat or left_out(numbers, spec.tests):
            return failures.disqualified(cheat, raw)
        sample = Sample(
            score=score.value,
            sub_scores=score.sub_scores,
            duration_s=outcome.duration_s,
            memory_mb=outcome.memory_mb,
            seed=seed,
            log=f"{self._logs.name}/{log_name}",
        )
        return Measured(
            sample,
            raw,
            score.keys,
            score.primary,
            outcome.survivors,
            inside=learnt(told, ran.result) if told else None,
            nonce=ran.nonce,
            mentions=self._mentions(ran, score.primary),
        )

    def _cheat(self, ran: Ran, told: Told | None) -> Disqualification | None:
        """What of a run makes its score nobody's, beside the baseline's own runs."""
        spec = self.spec
        if not spec.settled:
            return None
        if ran.outcome.survivors and not spec.left_behind:
            return left_running(ran.outcome.survivors)
        if spec.inside is not None:
            return wrong_with(told, ran.result, spec.inside, spec.trusted)
        return None

    def _mentions(self, ran: Ran, name: str) -> int:
        return 0 if ran.result is not None else mentions(self.spec.format, ran.outcome.stdout, name)

    def _score(self, outcome: Outcome, result: bytes | None) -> Score:
        spec = self.spec
        assert outcome.exit_code is not None
        _check_whole(outcome, result)
        score = read_score(spec.format, outcome.stdout, result, outcome.exit_code, spec.primary)
        if spec.exact and score.primary != spec.primary:
            raise ScoreError(
                f"the primary metric {spec.primary!r} is not in the result",
                f"only {score.primary!r} would fit",
            )
        check_keys(score, spec.expected_keys)
        return score


def _check_whole(outcome: Outcome, result: bytes | None) -> None:
    """Refuse an answer of which a part was dropped: that part may have held the true score."""
    if result is not None:
        if len(result) >= RESULT_CAP:
            raise ScoreError(f"the result file is larger than {RESULT_CAP >> 20} MiB", "write less")
    elif outcome.truncated and len(outcome.stdout) >= _OUTPUT_CAP:
        raise ScoreError(
            f"the benchmark printed more than {_OUTPUT_CAP >> 20} MiB",
            "let it print less, or write its result to {result}",
        )


def _read_result(path: Path) -> bytes:
    """What the run wrote to `{result}`, brought out by the room; empty where it wrote nothing."""
    return path.read_bytes() if path.exists() else b""
