"""Samples of real commits, through the real room, without namespaces and with them."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from selfimprove.bench.failures import Failed
from selfimprove.bench.measure import Bench, BenchSpec, Measured
from selfimprove.bench.opened import why_unknown
from selfimprove.bench.slot import Slot
from selfimprove.contracts.benchmark import Sample
from selfimprove.contracts.goal import GuardCommand
from selfimprove.contracts.settings import SandboxSettings, Settings
from selfimprove.process import StopToken
from selfimprove.room.isolation import probe
from selfimprove.room.job import RoomSpec
from selfimprove.room.layers import Layers
from selfimprove.room.room import Room
from selfimprove.vcs.export import Overlay
from selfimprove.vcs.quarantine import Quarantine
from selfimprove.vcs.target import open_target

Sampled = Callable[..., Measured | Failed]
contained_only = pytest.mark.skipif(
    probe("auto").level != "bubblewrap", reason="no user namespaces on this machine"
)


def git(repo: Path, *words: str) -> str:
    argv = ["git", "-c", "user.name=A", "-c", "user.email=a@b.c", "-C", str(repo), *words]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


def commit(repo: Path, **files: str) -> str:
    for name, text in files.items():
        (repo / name).write_text(text)
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "x", "--allow-empty")
    return git(repo, "rev-parse", "HEAD")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    repo = tmp_path / "target"
    repo.mkdir()
    git(repo, "init", "-q", "-b", "main")
    commit(repo, value="12", unused="")
    return repo


@pytest.fixture
def mode(request: pytest.FixtureRequest) -> str:
    return getattr(request, "param", "off")


at_every_level = pytest.mark.parametrize(
    "mode", ["off", pytest.param("auto", marks=contained_only)], indirect=True
)


@pytest.fixture
def bench(mode: str, tmp_path: Path, repo: Path) -> Callable[..., Bench]:
    def made(command: str, fmt: str = "json", **more: object) -> Bench:
        cache = tmp_path / "cache"
        settings = more.pop("settings", Settings())
        sandbox = SandboxSettings(mode=mode)
        room = Room(RoomSpec(repo, "", cache, sandbox=sandbox), StopToken())
        quarantine = Quarantine.open(cache / "q.git", open_target(repo))
        base = git(repo, "rev-list", "--max-parents=0", "HEAD")
        layers = Layers(quarantine, room, settings, Overlay(base_commit=base), cache)
        spec = BenchSpec(command, fmt, "ms", more.pop("timeout", 30), **more)
        slot = Slot(StopToken(), directory=tmp_path / "slots")
        return Bench(spec, room, layers, slot, tmp_path / "logs")

    return made


@pytest.fixture
def sampled(bench: Callable[..., Bench], repo: Path) -> Sampled:
    def run(command: str, fmt: str = "json", **more: object) -> Measured | Failed:
        found = bench(command, fmt, **more).measure(git(repo, "rev-parse", "HEAD"), "a.log", 7)
        assert isinstance(found, (Measured, Failed))
        return found

    return run


@at_every_level
def test_a_sample_holds_what_the_commit_printed_and_where_the_rest_is(
    bench: Callable[..., Bench], repo: Path, tmp_path: Path
):
    first, second = git(repo, "rev-parse", "HEAD"), commit(repo, value="11")
    one = bench(
        'echo hello; echo "{\\"ms\\": $(cat value), \\"seed\\": {seed}, \\"e\\": $S}"', seed_env="S"
    )
    (repo / "value").write_text("99")  # the checkout is not what is measured
    found = one.measure(first, "round_1/a.log", 7)
    assert isinstance(found, Measured)
    assert (found.sample.score, found.sample.sub_scores) == (12, {"seed": 7, "e": 7})
    assert (found.sample.seed, found.sample.log) == (7, "logs/round_1/a.log")
    assert found.raw.startswith("hello\n")
    assert "hello" in (tmp_path / "logs" / "round_1" / "a.log").read_text()
    assert found.keys == {"/ms", "/seed", "/e"}
    after = one.sample(second, "b.log", 7)
    assert isinstance(after, Sample)
    assert after.score == 11


@at_every_level
def test_the_result_file_is_read_and_may_be_missing(sampled: Sampled):
    found = sampled("echo noise; echo '{\"ms\": 3}' > {result}")
    assert isinstance(found, Measured)
    assert found.sample.score == 3
    missing = sampled("echo {result} > /dev/null; echo '{\"ms\": 3}'")
    assert isinstance(missing, Failed)
    assert missing.analysis.what == "the result file is empty"


@at_every_level
def test_nothing_is_left_where_nobody_clears_after_a_kill(
    sampled: Sampled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    found = sampled("echo '{\"ms\": 3}' > {result}")
    assert isinstance(found, Measured)


@pytest.mark.parametrize("mode", ["off"], indirect=True)
def test_warm_up_runs_leave_nothing_for_the_measured_one(sampled: Sampled, tmp_path: Path):
    runs = tmp_path / "runs"
    command = f'echo x >> {runs}; echo x >> kept; echo {{\\"ms\\": $(wc -l < kept)}} > {{result}}'
    found = sampled(command, warmup=2)
    assert isinstance(found, Measured)
    assert found.sample.score == 1  # a tree of its own
    assert runs.read_text() == "x\n" * 3


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="Linux alone")
@at_every_level
def test_a_benchmark_is_held_to_the_cores_it_is_given(sampled: Sampled):
    one = frozenset({min(os.sched_getaffinity(0))})
    found = sampled('echo {\\"ms\\": $(nproc)}', cpus=one)
    assert isinstance(found, Measured)
    assert found.sample.score == 1


PRINTS = """echo '{"ms": 1}'; """


@at_every_level
@pytest.mark.parametrize(
    ("command", "category", "says"),
    [
        (PRINTS + "echo oh no >&2; exit 3", "logic_error", "exited with 3"),
        (PRINTS + "no-such-program", "logic_error", "command not found"),
        (PRINTS + "sh -c 'kill -9 $$'", "oom", "out of memory"),
        (PRINTS + "echo MemoryError >&2; exit 1", "oom", "out of memory"),
        (PRINTS + "sh -c 'kill -SEGV $$'", "logic_error", "exited with 139"),
        ("true", "benchmark_parse_error", "holds no score"),
        (PRINTS + PRINTS, "benchmark_parse_error", "holds 2 scores"),
        ("echo '{\"ms\": NaN}'", "benchmark_parse_error", "NaN is not a number"),
    ],
)
def test_a_run_without_a_score_is_sorted(bench, repo, command: str, category: str, says: str):
    failed = bench(command).measure(git(repo, "rev-parse", "HEAD"), "a.log", None)
    assert isinstance(failed, Failed)
    assert failed.status == "error"
    assert failed.analysis.category == category
    assert says in failed.analysis.what
    assert failed.analysis.lesson
    assert failed.disqualification is None


@at_every_level
def test_a_hanging_benchmark_is_a_timeout_with_its_output(sampled: Sampled):
    failed = sampled("echo started; sleep 60", timeout=0.5)
    assert isinstance(failed, Failed)
    assert (failed.status, failed.analysis.category) == ("timeout", "timeout")
    assert "within 0.5 s" in failed.analysis.what
    assert failed.raw == "started\n"


def test_other_keys_than_the_baselines_disqualify(sampled: Sampled):
    keys = frozenset({"/ms"})
    assert isinstance(sampled(PRINTS, expected_keys=keys), Measured)
    failed = sampled('echo \'{"ms": 1, "extra": 2}\'', expected_keys=keys)
    assert isinstance(failed, Failed)
    assert failed.disqualification is not None
    assert failed.disqualification.technique == "changed_result_keys"
    assert "/extra" in failed.disqualification.evidence


def test_a_metric_named_by_a_setting_has_no_stand_in(sampled: Sampled):
    assert isinstance(sampled("echo '{\"primary\": 1}'"), Measured)
    failed = sampled("echo '{\"primary\": 1}'", exact=True)
    assert isinstance(failed, Failed)
    assert "'ms' is not in the result" in failed.analysis.what


def test_secrets_are_in_no_part_of_a_failure(sampled: Sampled):
    failed = sampled("echo hunter22; echo hunter22 >&2; exit 1", env={"TOKEN": "hunter22"})
    assert isinstance(failed, Failed)
    assert "hunter22" not in failed.raw + failed.analysis.model_dump_json()
    assert failed.raw == "***\n"


def test_a_flood_that_could_hide_the_true_score_is_refused(sampled: Sampled):
    flood = "head -c 9000000 /dev/zero | tr '\\0' x; echo"
    failed = sampled(f"{PRINTS} {flood}")
    assert isinstance(failed, Failed)
    assert "more than 8 MiB" in failed.analysis.what
    assert len(failed.raw) <= 64 * 1024


def test_pass_fail_and_a_failing_build(sampled: Sampled):
    found = sampled("exit 4", "pass_fail")
    assert isinstance(found, Measured)
    assert found.sample.score == 0
    failed = sampled("true", settings=Settings(prepare_command="echo broken >&2; exit 2"))
    assert isinstance(failed, Failed)
    assert failed.analysis.what == "prepare_command exited with 2"
    assert failed.analysis.why == "broken"


@at_every_level
def test_what_a_run_writes_is_gone_for_the_next(sampled: Sampled):
    command = "test -e junk && exit 9; touch junk; " + PRINTS
    assert isinstance(sampled(command), Measured)
    assert isinstance(sampled(command), Measured)


def test_guards_run_on_the_commit(bench: Callable[..., Bench], repo: Path):
    good, bad = git(repo, "rev-parse", "HEAD"), commit(repo, value="13")
    one = bench("true")
    guard = GuardCommand(name="g", command='test "$(cat value)" = 12')
    assert one.guard(guard, good, "g.log").exit_code == 0
    assert one.guard(guard, bad, "g.log").exit_code == 1


@at_every_level
def test_a_watched_run_says_which_files_it_opened(
    bench: Callable[..., Bench], repo: Path, tmp_path: Path
):
    if reason := why_unknown(tmp_path):
        pytest.skip(reason)
    one = bench('echo "{\\"ms\\": $(cat value)}"')
    found, seen = one.watched(git(repo, "rev-parse", "HEAD"), "a.log", None)
    assert isinstance(found, Measured)
    assert seen == {"opened": ["value"]}


@at_every_level
def test_what_the_base_writes_over_itself_is_nobody_s_fault(
    bench: Callable[..., Bench], repo: Path
) -> None:
    base = git(repo, "rev-list", "--max-parents=0", "HEAD")
    honest, villain = commit(repo, value="11"), commit(repo, value="$(echo 1 > log; echo 10)")
    command = "echo more >> unused; echo '{\"ms\": '$(eval echo $(cat value))'}'"
    one, other = bench(command, settled=True), bench(command, settled=True)
    one._layers.overlay = Overlay(base_commit=base, paths=frozenset({"unused"}))
    assert isinstance(one.measure(base, "a.log", None), Measured)
    assert isinstance(one.measure(honest, "b.log", None), Measured)
    log = {"log": b"true\n"}
    other._layers.overlay = Overlay(base_commit=base, paths=frozenset({"unused"}), extra_files=log)
    found = other.measure(villain, "c.log", None)
    assert isinstance(found, Failed)
    assert found.analysis.category == "sealed_file_violation"
    assert "written over while the commit was built or measured: log" in found.analysis.what
