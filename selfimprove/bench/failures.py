"""Why a run of the benchmark gave no score, sorted into the contract's categories."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from selfimprove.bench.raw import raw_text, redact
from selfimprove.bench.strict import KeysChanged, ScoreError
from selfimprove.bench.verdicts import WRITTEN, written_over
from selfimprove.contracts.benchmark import Category, Disqualification, FailureAnalysis
from selfimprove.process import Outcome
from selfimprove.room.prepared import Prepared

_OUT_OF_MEMORY = (
    "MemoryError",
    "std::bad_alloc",
    "Cannot allocate memory",
    "JavaScript heap out of memory",
    "java.lang.OutOfMemoryError",
)
_SHELL_KILLED = 128 + signal.SIGKILL
_TAIL_LINES = 8
_TAIL_CHARACTERS = 1000


@dataclass(frozen=True)
class Failed:
    """A run without a score; data for planners, never an error of ours."""

    status: Literal["error", "timeout"]
    analysis: FailureAnalysis
    raw: str
    disqualification: Disqualification | None = None


def of_run(
    outcome: Outcome, exit_is_score: bool, timeout: float | None, secrets: Sequence[str]
) -> Failed | None:
    """What the way a run ended says; None where its answer may be read."""
    raw = raw_text(outcome.stdout, secrets)
    why = redact(_tail(outcome.stderr or outcome.stdout), secrets)
    if outcome.error:
        return _failed("infrastructure", "the benchmark could not be started", outcome.error, raw)
    if outcome.exceeded:
        return _beyond_limit(outcome, why, raw)
    if outcome.timed_out:
        within = f" within {timeout:g} s" if timeout else ""
        return _failed("timeout", f"the benchmark did not end{within}", why, raw)
    if _out_of_memory(outcome):
        why = why or "it was killed from outside (SIGKILL)"
        return _failed("oom", "the benchmark ran out of memory", why, raw)
    if outcome.exit_code is None:
        return _failed("infrastructure", "the benchmark was ended from outside", why, raw)
    if outcome.exit_code != 0 and not exit_is_score:
        what = f"the benchmark {ended(outcome.exit_code)}; what it printed does not count"
        return _failed("logic_error", what, why, raw)
    return None


def _beyond_limit(outcome: Outcome, why: str, raw: str) -> Failed:
    """It was ended for a limit of the sandbox."""
    if outcome.exceeded == "memory":
        what = f"the benchmark held {outcome.memory_mb:.0f} MB, more than sandbox.memory_mb"
        return _failed("oom", what, why, raw)
    told = {
        "processes": "the benchmark ran more processes than sandbox.processes",
        "disk": "the benchmark wrote more to disk than sandbox.disk_mb",
    }[outcome.exceeded]
    return _failed("logic_error", told, why, raw)


def not_ready(outcome: Outcome, settled: bool, secrets: Sequence[str]) -> Failed:
    """A service was not ready: after a baseline, with the candidate's own files that it runs."""
    raw, why = raw_text(outcome.stdout, secrets), redact(outcome.unready, secrets)
    if settled:
        return _failed("logic_error", "a service did not start with this change", why, raw)
    return _failed("infrastructure", "a service did not start", why, raw)


def unprepared(prepared: Prepared, secrets: Sequence[str]) -> Failed:
    """The commit's `prepare_command` failed, or wrote where it must not: nothing is measured."""
    outcome = prepared.outcome
    if prepared.written:
        return disqualified(written_over(prepared.written), "")
    if outcome is None:
        return _failed("infrastructure", "the tree could not be prepared", "", "")
    raw = raw_text(outcome.stdout, secrets)
    why = redact(_tail(outcome.stderr or outcome.stdout), secrets)
    if outcome.error:
        return _failed("infrastructure", "prepare_command could not be started", outcome.error, raw)
    if outcome.timed_out:
        return _failed("timeout", "prepare_command did not end in its time", why, raw)
    if _out_of_memory(outcome):
        return _failed("oom", "prepare_command ran out of memory", why, raw)
    how = ended(outcome.exit_code) if outcome.exit_code is not None else "was ended from outside"
    return _failed("logic_error", f"prepare_command {how}", why, raw)


def unreadable(error: ScoreError, raw: str) -> Failed:
    """The benchmark ran to its end and left no single score."""
    return _failed("benchmark_parse_error", error.what, error.why, raw)


def keys_changed(error: KeysChanged, raw: str) -> Failed:
    """The answer has other keys than the baseline's: a verdict of its own."""
    failed = _failed("benchmark_parse_error", error.what, error.why, raw)
    evidence = Disqualification(technique="changed_result_keys", evidence=str(error))
    return Failed(failed.status, failed.analysis, raw, evidence)


def disqualified(cheat: Disqualification, raw: str) -> Failed:
    """There is a score, and it is not the benchmark's: a verdict of its own."""
    kind: Category = "benchmark_parse_error"
    if cheat.technique == WRITTEN:
        kind = "sealed_file_violation"
    failed = _failed(kind, cheat.evidence, "its score does not count", raw)
    return Failed(failed.status, failed.analysis, raw, cheat)


def ended(exit_code: int) -> str:
    """How a process ended, in words."""
    if exit_code >= 0:
        hint = {126: " (not executable)", 127: " (command not found)"}.get(exit_code, "")
        return f"exited with {exit_code}{hint}"
    try:
        return f"died of {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"died of signal {-exit_code}"


def _out_of_memory(outcome: Outcome) -> bool:
    """Killed, and not by us; or its last words say so."""
    if outcome.exit_code in (-signal.SIGKILL, _SHELL_KILLED):
        return True
    lines = _tail(outcome.stderr).splitlines()
    last = lines[-1] if lines else ""
    return bool(outcome.exit_code) and any(word in last for word in _OUT_OF_MEMORY)


def _failed(category: Category, what: str, why: str, raw: str) -> Failed:
    analysis = FailureAnalysis(what=what, why=why, category=category, lesson=_LESSONS[category])
    return Failed("timeout" if category == "timeout" else "error", analysis, raw)


def _tail(output: bytes) -> str:
    lines = [line for line in output.decode("utf-8", "replace").splitlines() if line.strip()]
    return "\n".join(lines[-_TAIL_LINES:])[-_TAIL_CHARACTERS:]


_LESSONS: dict[Category, str] = {
    "timeout": "This change makes the program hang or run far longer; do less work, or bound it.",
    "oom": "This change needs more memory than there is; keep less at once.",
    "logic_error": "This change breaks the program; its output above says where.",
    "sealed_file_violation": "The benchmark's own files are not the candidate's to write.",
    "benchmark_parse_error": "The benchmark must still print exactly one score, as it did before.",
    "infrastructure": "Nothing was learnt of this change: the machine or its set-up failed.",
}
