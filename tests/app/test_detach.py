"""`run --detach`: what would end the run at once is said here; it imports nothing of the target."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from selfimprove.app.detach import detach
from selfimprove.errors import LockedError, TrustError
from selfimprove.store import lock
from selfimprove.testing.rehearsal import Rehearsal

Stage = Callable[..., Rehearsal]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The command lines that would have been started."""
    found: list[tuple[str, ...]] = []
    monkeypatch.setattr(
        "selfimprove.app.detach.start_detached", lambda argv, *_: found.append(argv) or 7
    )
    monkeypatch.setattr(sys, "argv", ["selfimprove", "run", ".", "--detach"])
    return found


def test_nobody_has_confirmed(stage: Stage, started: list[tuple[str, ...]]) -> None:
    site = stage().site()
    with pytest.raises(TrustError):
        detach(site, yes=False)
    assert started == []
    assert detach(site, yes=True) == 0
    assert started[0][-3:] == ("run", ".", "--yes")


def test_another_run_holds_the_lock(stage: Stage, started: list[tuple[str, ...]]) -> None:
    site = stage().site()
    with lock.held(site.layout.lock), pytest.raises(LockedError):
        detach(site, yes=True)
    assert started == []


def test_a_module_of_the_target_is_not_imported(
    stage: Stage, started: list[tuple[str, ...]], tmp_path: Path
) -> None:
    detach(stage().site(), yes=True)
    (tmp_path / "click.py").write_text("raise SystemExit('the target was imported')\n")
    argv = [*started[0][: started[0].index("selfimprove") + 1], "--version"]
    done = subprocess.run(argv, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
