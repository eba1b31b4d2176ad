"""A tool that is let have nothing of the caller's but what it is given: variables, and one file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from room_machine import Machine

from selfimprove.process import Outcome
from selfimprove.room.isolation import Level
from selfimprove.room.job import Job
from selfimprove.testing.levels import hold_to, release

LEVELS: tuple[Level, ...] = ("bubblewrap", "landlock", "reduced")


@pytest.fixture(params=LEVELS)
def level(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Level]:
    if missing := hold_to(request.param, monkeypatch):
        pytest.skip(missing)
    yield request.param
    release()


def as_tool(machine: Machine, command: str) -> Outcome:
    shared = {".tool/login.json": machine.home / ".tool/login.json"}
    env, words = {"MINE": "given"}, ("/bin/sh", "-c", command)
    return machine.room("auto").run(
        Job(words, machine.tree, "agent", timeout=20, env=env, alone=True, shares=shared)
    )


@pytest.fixture
def store(machine: Machine) -> Machine:
    folder = machine.home / ".tool"
    folder.mkdir()
    (folder / "login.json").write_text("old")
    (folder / "settings.json").write_text("private")
    return machine


def test_it_is_given_no_variable_of_the_caller_s(store: Machine, level: Level) -> None:
    for name, value in {"OPENAI_API_KEY": "k-1", "https_proxy": "http://p", "TZ": "UTC"}.items():
        store.monkeypatch.setenv(name, value)
    told = as_tool(store, "env").stdout.decode().splitlines()
    found = dict(line.split("=", 1) for line in told if "=" in line)
    assert "OPENAI_API_KEY" not in found
    assert (found["MINE"], found["https_proxy"], found["TZ"]) == ("given", "http://p", "UTC")


def test_a_shared_file_is_read_and_renewed_where_it_lies(store: Machine, level: Level) -> None:
    login = store.home / ".tool/login.json"
    outcome = as_tool(store, "cat ~/.tool/login.json; printf new > ~/.tool/login.json")
    assert (outcome.stdout, outcome.stderr) == (b"old", b"")
    assert login.read_text() == "new"


def test_what_is_put_in_its_place_is_not_lost(store: Machine, level: Level) -> None:
    """As programs renew a login: by a new file, or by a copy where that is refused."""
    replace = "cd ~/.tool; printf new > next; mv -f next login.json || cp next login.json"
    as_tool(store, replace)
    assert (store.home / ".tool/login.json").read_text() == "new"


def test_with_mounts_nothing_else_of_its_folder_is_there(store: Machine, level: Level) -> None:
    seen = as_tool(store, "ls -A ~/.tool; echo bad > ~/.tool/settings.json").stdout.decode().split()
    if level == "bubblewrap":
        assert seen == ["login.json"]
        assert (store.home / ".tool/settings.json").read_text() == "private"
    else:
        assert "settings.json" in seen


def test_words_too_long_for_a_path_are_words(store: Machine) -> None:
    long = "x" * 5000
    job = Job(("printf", "%s", long, "a/" + long), store.tree, "agent", timeout=20)
    assert store.room("auto").run(job).stdout.decode().startswith(long)
