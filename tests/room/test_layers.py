"""Layers over real commits: made once, never written again, thrown away where they should be."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from room_machine import Machine, contained_only

from selfimprove.contracts.settings import Settings
from selfimprove.errors import ConfigError
from selfimprove.room.isolation import probe
from selfimprove.room.job import Job
from selfimprove.room.layers import Layers
from selfimprove.room.prepared import Prepared
from selfimprove.vcs.export import Overlay
from selfimprove.vcs.quarantine import Quarantine
from selfimprove.vcs.target import open_target

Make = Callable[..., Layers]
LEVELS = [pytest.param("auto", marks=contained_only), "off"]


def git(repo: Path, *words: str) -> str:
    argv = ["git", "-c", "user.name=A", "-c", "user.email=a@b.c", "-C", str(repo), *words]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


def commit(repo: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text(text)
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "x")
    return git(repo, "rev-parse", "HEAD")


@pytest.fixture
def repo(machine: Machine) -> Path:
    (machine.target / ".git").rmdir()
    git(machine.target, "init", "-q", "-b", "main")
    commit(
        machine.target,
        {"who": "base", "bench.sh": "cat who built dep/d 2>/dev/null", "package-lock.json": "1"},
    )
    return machine.target


@pytest.fixture(params=LEVELS)
def make(request: pytest.FixtureRequest, machine: Machine, repo: Path) -> Make:
    def make_them(mode: str = request.param, **settings: object) -> Layers:
        quarantine = Quarantine.open(machine.base / "cache" / "q.git", open_target(repo))
        base = git(repo, "rev-list", "--max-parents=0", "HEAD")
        base = git(repo, "rev-parse", str(settings.pop("base", base)))
        sealed = settings.pop("sealed", {"bench.sh"})
        assert isinstance(sealed, set)
        overlay = Overlay(base_commit=base, paths=frozenset(sealed))
        room = machine.room(mode, provide=settings.pop("provide", ()))
        values = Settings.model_validate(settings)
        return Layers(quarantine, room, values, overlay, machine.base / "cache")

    return make_them


def base_of(layers: Layers) -> str:
    assert layers.overlay is not None
    return layers.overlay.base_commit


def measure(layers: Layers, prepared: Prepared, command: str = "sh bench.sh; exit 0") -> str:
    with layers.throwaway(prepared) as tree:
        outcome = layers.room.run(Job(command, tree, "benchmark"))
    assert outcome.exit_code == 0, outcome
    return outcome.stdout.decode()


def test_sealed_files_come_from_the_base(make: Make, repo: Path) -> None:
    changed = commit(repo, {"who": "candidate", "bench.sh": "echo 1000000"})
    layers = make()
    assert measure(layers, layers.prepared(changed)) == "candidate"


def test_a_run_leaves_nothing_to_the_next(make: Make, repo: Path) -> None:
    layers = make(prepare_command="mkdir out && echo one > out/a && echo two > built")
    prepared = layers.prepared(base_of(layers))
    assert prepared.ok
    spoil = (
        "cat built out/a; echo bad > built; echo bad > out/a; rm -r out; mkdir out; touch new who"
    )
    assert measure(layers, prepared, spoil) == "two\none\n"
    assert measure(layers, prepared, "cat built out/a; ls new || true") == "two\none\n"
    assert not list((layers.cache / "runs").iterdir())


def test_prepared_once_then_taken_up_again(make: Make, machine: Machine) -> None:
    layers = make(prepare_command="date +%N > built")
    first = measure(layers, layers.prepared(base_of(layers)), "cat built")
    again = make(prepare_command="date +%N > built")
    assert measure(again, again.prepared(base_of(again)), "cat built") == first
    assert measure(again, again.prepared(base_of(again), "closing"), "cat built") != first


def test_prepared_by_two_threads_at_once(make: Make) -> None:
    layers = make(prepare_command="echo x >> built; sleep 0.1")
    threads = [threading.Thread(target=layers.prepared, args=(base_of(layers),)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert measure(layers, layers.prepared(base_of(layers)), "cat built") == "x\n"


def test_failed_prepare_is_an_outcome(make: Make) -> None:
    layers = make(prepare_command="echo broken >&2; exit 9")
    for _ in range(2):
        prepared = layers.prepared(base_of(layers))
        assert not prepared.ok
        assert prepared.outcome is not None
        assert (prepared.outcome.exit_code, prepared.outcome.stderr) == (9, b"broken\n")
    assert not list((layers.cache / "prepared").iterdir())


def test_deps_once_for_each_set_of_lock_files(make: Make, repo: Path) -> None:
    other = commit(repo, {"who": "candidate"})
    locked = commit(repo, {"package-lock.json": "2"})
    layers = make(deps_command="mkdir -p dep && cat who package-lock.json > dep/d && rm who")
    assert layers.deps(base_of(layers)) == layers.deps(other)
    assert measure(layers, layers.prepared(other)) == "candidatebase1"
    assert measure(layers, layers.prepared(locked)) == "candidatebase2"


def test_prepare_may_write_into_deps(make: Make) -> None:
    layers = make(deps_command="mkdir dep; echo d > dep/d", prepare_command="echo more >> dep/d")
    assert measure(layers, layers.prepared(base_of(layers)), "cat dep/d") == "d\nmore\n"
    deps = layers.deps(base_of(layers))
    assert deps is not None
    assert (deps.tree / "dep" / "d").read_text() == "d\n"


def test_failed_deps_stop_the_start(make: Make) -> None:
    layers = make(deps_command="echo no such package >&2; exit 1")
    with pytest.raises(ConfigError, match="no such package"):
        layers.deps(base_of(layers))


def test_times_are_kept_into_the_run(make: Make) -> None:
    layers = make(prepare_command="touch -d @1000000000 built")
    for _ in range(2):
        assert (
            measure(layers, layers.prepared(base_of(layers)), "stat -c %Y built") == "1000000000\n"
        )


def test_build_caches_come_from_the_incumbent_alone(make: Make, repo: Path) -> None:
    candidate = commit(repo, {"who": "candidate"})
    layers = make(
        prepare_command="mkdir -p cache; date +%N >> cache/c; true", prepare_cache=["cache", "none"]
    )
    git(repo, "checkout", "-q", "HEAD^")
    rival = commit(repo, {"who": "rival"})
    layers.quarantine.take(rival)

    def kept(commit: str, anew: str = "") -> list[str]:
        prepared = layers.prepared(commit, anew)
        return measure(layers, prepared, "cat cache/c").splitlines()

    (incumbent,) = kept(base_of(layers))
    assert kept(candidate)[:1] == kept(rival)[:1] == [incumbent]
    assert len(kept(candidate)) == len(kept(rival)) == 2
    (anew,) = kept(candidate, "closing")
    assert kept(candidate, "closing") == [anew] != [incumbent]


def test_provided_environment_in_every_layer(make: Make, machine: Machine, repo: Path) -> None:
    (machine.target / ".git" / "info" / "exclude").write_text("env/\n")
    (machine.target / "env").mkdir()
    (machine.target / "env" / "tool").write_text("tool\n")
    layers = make(provide=[{"path": "env"}], prepare_command="cat env/tool > built")
    assert measure(layers, layers.prepared(base_of(layers)), "cat env/tool built") == "tool\ntool\n"


def test_nothing_leads_a_benchmark_to_what_is_held_out(make: Make, machine: Machine) -> None:
    (machine.target / "held").mkdir()
    (machine.target / "held" / "answer").write_text("42\n")
    layers = make(provide=[{"path": "held", "for": ["holdout"]}])
    prepared = layers.prepared(base_of(layers))
    look = "if test -e held/answer; then echo there; else echo none; fi"

    def held_out() -> str:
        with layers.throwaway(prepared) as tree:
            return layers.room.run(Job(look, tree, "holdout")).stdout.decode()

    seen = [measure(layers, prepared, look), held_out(), measure(layers, prepared, look)]
    assert seen == ["none\n", "there\n", "none\n"]


WRITES = {
    "nothing": ("true", []),
    "something else": ("echo 1 > new; mkdir -p dep; echo 2 > dep/e", []),
    "touched": ("touch bench.sh tests/a; chmod +x tests/a; cat tests/a > c; mv c tests/a", []),
    "written over": ("echo 1 >> bench.sh", ["bench.sh"]),
    "deleted": ("rm tests/a", ["tests/a"]),
    "a link": ("cp tests/a c; rm tests/a; ln -s ../c tests/a", ["tests/a"]),
    "the folder": ("cp -r tests t; rm -r tests; mv t tests; echo 1 > tests/b", ["tests/b"]),
    "the folder, a link": ("mv tests t; ln -s t tests", ["tests/a", "tests/b"]),
    "the folder, a file": ("rm -r tests; echo 1 > tests", ["tests/a", "tests/b"]),
    "the folder anew": ("rm -r tests; mkdir tests; echo a > tests/a", ["tests/b"]),
}


@pytest.mark.parametrize("made", ["build", "build/cache"])
def test_a_build_cache_behind_a_link_is_not_taken_over(
    make: Make, repo: Path, machine: Machine, made: str
) -> None:
    outside = machine.base / "outside"
    (outside / "cache").mkdir(parents=True)
    (outside / "cache" / "secret").write_text("42")
    end = outside if made == "build" else outside / "cache"
    script = f"ls build/cache > built 2>&1\nrm -rf build\nmkdir -p {made}\nrmdir {made}\n"
    incumbent = commit(repo, {"make.sh": f"{script}ln -s '{end}' {made}\n"})
    candidate = commit(repo, {"who": "her"})
    layers = make(prepare_command="sh make.sh", prepare_cache=["build/cache"])
    assert layers.prepared(incumbent).ok
    assert layers.prepared(candidate).ok
    assert "secret" not in measure(layers, layers.prepared(candidate), "cat built")


@pytest.mark.parametrize("name", WRITES)
def test_sealed_files_that_a_run_wrote_over(make: Make, repo: Path, name: str) -> None:
    commit(repo, {"tests/a": "a\n", "tests/b": "b\n"})
    layers = make(sealed={"bench.sh", "tests/a", "tests/b"}, base="HEAD")
    command, expected = WRITES[name]
    prepared = layers.prepared(base_of(layers))
    with layers.throwaway(prepared) as tree:
        outcome = layers.room.run(Job(command, tree, "benchmark"))
        assert outcome.exit_code == 0, outcome.stderr
        assert sorted(layers.written(tree, prepared)) == expected


def test_a_build_that_writes_over_what_the_base_s_leaves_alone(make: Make, repo: Path) -> None:
    candidate = commit(repo, {"who": "her", "extra": "echo 1 > bench.sh\n"})
    honest = commit(repo, {"who": "him", "extra": ""})
    layers = make(
        prepare_command="echo 2 > lock; touch extra; sh extra", sealed={"bench.sh", "lock"}
    )
    bad, good = layers.prepared(candidate), layers.prepared(honest)
    assert (bad.ok, bad.written) == (False, {"bench.sh"})
    assert (good.ok, good.written) == (True, frozenset())
    assert layers.prepared(base_of(layers)).ok


def test_drop_keep_and_clean(make: Make, repo: Path) -> None:
    first = git(repo, "rev-parse", "HEAD")
    second = commit(repo, {"who": "candidate"})
    layers = make(prepare_command="echo > built")
    kept, dropped = layers.prepared(first), layers.prepared(second)
    (layers.cache / "exports" / "x.making-1").mkdir()
    layers.keep([first])
    layers.clean()
    assert all(layer.exists() for layer in kept.stack)
    assert not dropped.stack[-1].exists()
    assert len(list((layers.cache / "exports").iterdir())) == 1
    assert measure(layers, layers.prepared(second), "cat who") == "candidate"


@contained_only
def test_overlays_are_used_where_they_work() -> None:
    found = probe("auto")
    assert found.overlay or found.reason


def test_a_candidate_is_a_layer_of_what_it_changed(make: Make, repo: Path) -> None:
    base = git(repo, "rev-parse", "HEAD")
    changed = commit(repo, {"who": "later", "new/file": "n"})
    layers = make()
    first, second = layers.prepared(base), layers.prepared(changed)
    if layers.room.probe.overlay:
        assert second.stack[:-1] == first.stack
        top = second.stack[-1]
        assert sorted(path.name for path in top.rglob("*") if path.is_file()) == ["file", "who"]
    shown = measure(
        layers, second, "cat who new/file package-lock.json; echo x > package-lock.json"
    )
    assert shown == "latern1"
    assert (first.stack[0] / "package-lock.json").read_text() == "1"
    layers.keep([changed])
    assert first.stack[0].exists()  # what is kept lies over it


def test_what_a_layer_cannot_say_is_exported_whole(make: Make, repo: Path) -> None:
    (repo / "who").unlink()
    gone = commit(repo, {"more": "m"})
    (repo / "who").symlink_to("more")
    linked = commit(repo, {})
    layers = make()
    assert measure(layers, layers.prepared(gone), "ls who 2>/dev/null; cat more") == "m"
    assert measure(layers, layers.prepared(linked), "cat who") == "m"
    assert all(len(layers.prepared(oid).stack) == 1 for oid in (gone, linked))


def test_what_was_built_for_the_same_files_is_kept(make: Make, repo: Path) -> None:
    measured = commit(repo, {"who": "winner"})
    git(repo, "commit", "-q", "--amend", "-m", "the same files, published")
    published = git(repo, "rev-parse", "HEAD")
    git(repo, "branch", "measured", measured)
    layers = make(prepare_command="date +%N > built")
    built = measure(layers, layers.prepared(measured), "cat built")
    layers.keep([published])
    assert measure(layers, layers.prepared(published), "cat built") == built


def test_a_repository_of_one_commit_where_it_is_asked_for(make: Make, repo: Path) -> None:
    candidate = commit(repo, {"who": "candidate"})
    layers = make(export_git=True)
    look = "git status --porcelain; git log --format=%s --all; git show HEAD:who"
    prepared = layers.prepared(candidate)
    assert measure(layers, prepared, look) == "the tree as given\ncandidate"
    prepared = layers.prepared(base_of(layers))
    assert measure(layers, prepared, look) == "the tree as given\nbase"
    assert measure(make(), make().prepared(candidate), "ls -d .git || echo none") == "none\n"
