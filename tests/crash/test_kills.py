"""A run killed anywhere, by SIGKILL in a process of its own, ends as one that never was."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from selfimprove.testing.faults import sample

SAMPLE, PARTS = 60, 2


def killed(folder: Path, *words: str, program: str = "kills") -> dict[str, Any]:
    """What came of the kills, made by a program of their own: this one has threads."""
    argv = [sys.executable, "-m", f"selfimprove.testing.{program}", str(folder), *words]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr[-2000:]
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("part", range(1, PARTS + 1))
def test_a_kill_at_some_points_of_every_kind(tmp_path: Path, part: int) -> None:
    found = killed(tmp_path, "--sample", str(SAMPLE), "--part", f"{part}/{PARTS}")
    assert found["wrong"] == []
    assert found["points"] > 500
    assert found["tried"] >= SAMPLE / PARTS * 0.8
    assert len(found["not_reached"]) <= found["tried"] * 0.05


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_kill_while_changes_are_criticised(tmp_path: Path) -> None:
    found = killed(tmp_path, "--criticised", "--sample", str(SAMPLE // PARTS))
    assert found["wrong"] == []
    assert found["points"] > 600
    assert found["tried"] >= SAMPLE / PARTS * 0.8
    assert len(found["not_reached"]) <= max(2, found["tried"] * 0.05)


@pytest.mark.crash
@pytest.mark.timeout(6 * 3600)
@pytest.mark.parametrize("part", range(1, PARTS + 1))
def test_a_kill_at_every_point(tmp_path: Path, part: int) -> None:
    found = killed(tmp_path, "--part", f"{part}/{PARTS}")
    print(json.dumps({name: found[name] for name in ("points", "tried", "seconds")}))
    assert found["wrong"] == []
    assert len(found["not_reached"]) <= found["tried"] * 0.02


def test_a_sample_has_every_kind_and_side() -> None:
    points = [f"{kind} {n} |{side} #1" for n in range(50) for kind in "abc" for side in ("x", "y")]
    points.append("rare one |x #1")
    chosen = sample(points, 30)
    assert "rare one |x #1" in chosen
    assert 25 <= len(chosen) <= 35
    assert {(p[0], p.split("|")[1][0]) for p in chosen} == {
        (p[0], p.split("|")[1][0]) for p in points
    }
    assert chosen == [point for point in points if point in chosen]


@pytest.mark.crash
@pytest.mark.timeout(2 * 3600)
def test_a_hundred_kills_at_any_moment(tmp_path: Path) -> None:
    found = killed(tmp_path / "run", "--kills", "100", program="random_kills")
    print(json.dumps(found))
    assert found["wrong"] == []
    assert found["killed"] == 100


@pytest.mark.long
@pytest.mark.timeout(600)
def test_some_kills_at_any_moment(tmp_path: Path) -> None:
    words = ("--kills", "5", "--rounds", "3")
    found = killed(tmp_path / "run", *words, program="random_kills")
    assert found["wrong"] == []
    assert found["killed"] >= 1
