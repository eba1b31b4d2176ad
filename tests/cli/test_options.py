"""What the working commands hand to selfimprove.app."""

from __future__ import annotations

import shlex
from dataclasses import fields
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from selfimprove.app.options import (
    BenchmarkOptions,
    DemoOptions,
    DoctorOptions,
    InitOptions,
    ReplayOptions,
    RunOptions,
)

APP = {
    "run": ("run", "resume"),
    "init": ("init",),
    "demo": ("demo",),
    "benchmark": ("benchmark",),
    "doctor": ("doctor",),
    "replay": ("replay",),
}
"""Module of selfimprove.app -> the functions that commands call there."""


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What was handed over, to an app that only takes it, and answers 6."""
    taken: list[object] = []

    def take(options: object) -> int:
        taken.append(options)
        return 6

    for module, names in APP.items():
        for name in names:
            monkeypatch.setattr(f"selfimprove.app.{module}.{name}", take)
    return taken


def test_run_without_flags_leaves_everything_open(given, invoke) -> None:
    assert invoke("run").code == 6
    assert given == [RunOptions(repo=Path())]


def test_run_with_every_flag(given, invoke) -> None:
    invoke(
        *shlex.split("run some/repo --topic fast --root r --trees t --goal g.md --agent offline"),
        *shlex.split("--planner one --planner two --executor hands --max-iterations 5 --agents 2"),
        *shlex.split("--for 1h30m --budget-usd 2.5 --dry-run --detach --require-win --yes --json"),
    )
    assert given == [
        RunOptions(
            repo=Path("some/repo"),
            topic="fast",
            root=Path("r"),
            trees=Path("t"),
            goal_file=Path("g.md"),
            agent="offline",
            roles={"planner": ("one", "two"), "executor": ("hands",)},
            max_iterations=5,
            agents=2,
            for_=5400.0,
            budget_usd=2.5,
            dry_run=True,
            detach=True,
            require_win=True,
            yes=True,
            json=True,
        )
    ]


def test_until_is_the_next_time_that_the_clock_says_so(given, invoke) -> None:
    now = datetime.now().astimezone()
    soon = now + timedelta(hours=1)
    invoke("run", "--until", f"{soon:%H:%M}")
    until = given[0].until
    assert timedelta(minutes=58) < until - now <= timedelta(hours=1)


def test_resume_says_that_a_person_asked(given, invoke) -> None:
    invoke("resume", "--adopt")
    assert given == [RunOptions(repo=Path(), adopt=True, resume=True)]
    assert invoke("resume", "--adopt", "--restore").code == 2
    assert invoke("run", "--adopt").code == 2


def test_init_by_flags(given, invoke) -> None:
    invoke(
        *shlex.split("init r --objective Faster --metric ms --target 12.5 --direction minimize"),
        *shlex.split("--scope src/ --scope lib/ --out-of-scope tests/ --format json --timeout 20m"),
        *["--command", "python bench.py", "--guard", "pytest -q", "--goal-clarifier", "x", "--yes"],
        *["--budget-usd", "2"],
    )
    assert given == [
        InitOptions(
            repo=Path("r"),
            objective="Faster",
            metric="ms",
            target=12.5,
            direction="lower_is_better",
            scope=("src/", "lib/"),
            out_of_scope=("tests/",),
            command="python bench.py",
            format="json",
            timeout=1200.0,
            guards=("pytest -q",),
            roles={"goal-clarifier": ("x",)},
            budget_usd=2.0,
            yes=True,
        )
    ]
    assert invoke("init", "--budget-usd", "2", "--no-budget").code == 2


def test_the_smaller_commands(given, invoke) -> None:
    invoke("benchmark", "--runs", 4)
    invoke("doctor", "--full", "--json")
    invoke("demo", "d", "--max-iterations", 2)
    invoke("replay", 3, "r")
    invoke("replay", "round_4")
    assert given == [
        BenchmarkOptions(repo=Path(), runs=4),
        DoctorOptions(repo=Path(), full=True, json=True),
        DemoOptions(directory=Path("d"), max_iterations=2),
        ReplayOptions(round=3, repo=Path("r")),
        ReplayOptions(round=4, repo=Path()),
    ]


def test_the_topic_may_come_from_the_environment(given, invoke, monkeypatch) -> None:
    monkeypatch.setenv("SELFIMPROVE_TOPIC_SLUG", '"night"')
    invoke("run")
    assert given[0].topic == "night"


def test_options_are_frozen_and_complete() -> None:
    assert {field.name for field in fields(RunOptions)} >= {"roles", "until", "for_", "restore"}
    with pytest.raises(AttributeError):
        RunOptions(repo=Path()).yes = True  # type: ignore[misc]
