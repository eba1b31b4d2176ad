"""A record of an earlier version is migrated on a copy; the old one is kept as it was."""

from __future__ import annotations

import hashlib
import json
import shutil
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from selfimprove.app.migrating import finished, migrating
from selfimprove.cli import main
from selfimprove.contracts.envelope import FIRST_PREV
from selfimprove.errors import ContractError, LockedError
from selfimprove.store import lock
from selfimprove.store.layout import Layout
from selfimprove.store.migrating import is_old, migrate
from selfimprove.store.rebuild import findings
from selfimprove.store.record import load_state
from selfimprove.testing.rehearsal import Rehearsal

OLD = Path(__file__).with_name("record_of_the_first_rule.tar.xz")
"""What the demo wrote when three pairs decided; `state/` and `tracking/`, as they were."""
Stage = Callable[..., Rehearsal]


@pytest.fixture
def old(tmp_path: Path) -> Layout:
    root = tmp_path / "default"
    with tarfile.open(OLD) as archive:
        archive.extractall(root, filter="data")
    return Layout(root)


def digests(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_an_old_record_becomes_a_sound_one_and_is_kept(old: Layout) -> None:
    with pytest.raises(ContractError, match="`selfimprove resume` or `validate --rebuild`"):
        load_state(old)
    before = digests(old.root)
    kept = migrate(old)
    assert kept == old.root.with_name("default.old")
    assert digests(kept) == before
    assert findings(old) == []
    state = load_state(old)
    assert (state.status, state.wins_total) == ("max_iterations", 5)
    told = json.loads((kept / "state/agent-settings.json").read_text())
    assert state.settings is not None
    assert state.settings.best_score == told["best_score"]
    assert (old.root / "tracking/raw_data.json").read_bytes() == (
        kept / "tracking/raw_data.json"
    ).read_bytes()
    assert not is_old(old)
    assert migrate(old) is None
    assert sorted(path.name for path in old.root.parent.iterdir()) == ["default", "default.old"]


def test_an_old_record_that_is_not_sound_is_left_as_it_is(old: Layout) -> None:
    segment = old.segment(3)
    lines = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(b"".join(lines[:40] + lines[41:]))
    (old.root / "state/benchmark.json").write_text("{}")  # a file that nobody knows
    before = digests(old.root)
    with pytest.raises(ContractError, match="nothing was changed"):
        migrate(old)
    assert digests(old.root) == before
    assert [path.name for path in old.root.parent.iterdir()] == ["default"]


def test_a_record_of_this_version_is_not_touched(old: Layout) -> None:
    top = Path(__file__).parents[2]
    shutil.rmtree(old.root)
    for folder in ("state", "tracking"):
        shutil.copytree(top / folder, old.root / folder)
    assert not is_old(old)
    assert migrate(old) is None


@pytest.mark.parametrize("renames", [0, 1, 2])
def test_a_migration_that_is_cut_off_is_begun_again_or_ended(
    old: Layout, monkeypatch: pytest.MonkeyPatch, renames: int
) -> None:
    before, done = digests(old.root), iter(range(renames))
    rename = Path.rename

    def killed(path: Path, place: Path) -> Path:
        if path.is_dir() and next(done, None) is None:
            raise KeyboardInterrupt
        return rename(path, place)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", killed)
        with pytest.raises(KeyboardInterrupt):
            migrate(old)
    finished(old)
    migrate(old)
    assert findings(old) == []
    assert digests(old.root.with_name("default.old")) == before
    assert sorted(path.name for path in old.root.parent.iterdir()) == ["default", "default.old"]


def test_it_needs_the_lock(old: Layout) -> None:
    def read() -> None:
        load_state(old)

    with lock.held(old.lock), pytest.raises(LockedError):
        migrating(old, read)
    migrating(old, read)


def test_validate_says_so_and_rebuild_migrates(
    old: Layout, capfd: pytest.CaptureFixture[str]
) -> None:
    words = [str(old.root.parent), "--root", str(old.root)]
    assert main(["validate", *words]) == 1
    assert "written by an earlier version: `validate --rebuild`" in capfd.readouterr().out
    assert main(["status", *words]) == 3
    assert "migrates it, on a copy" in capfd.readouterr().err
    assert main(["validate", "--rebuild", *words]) == 0
    said = capfd.readouterr()
    assert "the old record is kept" in said.err
    assert said.out.endswith(": sound\n")
    assert main(["status", *words]) == 0


def aged(root: Layout) -> None:
    """Write a record as the first version wrote it."""
    prev = FIRST_PREV
    for segment in sorted(root.journal.glob("*.jsonl"), key=lambda path: int(path.stem[6:])):
        now = b""
        for line in segment.read_bytes().splitlines():
            aging = {**json.loads(line), "prev": prev}
            _age(aging["payload"])
            told = json.dumps(aging, separators=(",", ":"), ensure_ascii=False).encode()
            prev = hashlib.sha256(told).hexdigest()
            now += told + b"\n"
        segment.write_bytes(now)


def _age(payload: dict[str, Any]) -> None:
    if payload.get("event") == "confirming":
        del payload["base"], payload["trial"]
    if payload.get("event") == "recorded":
        won = payload.pop("wins")
        payload["win"] = won[0] if won else None
    if payload.get("tool") == "benchmark.pair":
        for part in ("args", "result"):
            payload.get(part, {}).pop("purpose", None)
    for confirmation in _confirmations(payload):
        confirmation.pop("trial")


def _confirmations(payload: dict[str, Any]) -> Iterator[dict[str, Any]]:
    current = payload.get("state", {}).get("round") or {}
    yield from current.get("tournament", {}).get("confirmations", [])


def test_an_old_run_goes_on(stage: Stage) -> None:
    play = stage()
    play.run(max_iterations=1)
    aged(play.layout)
    with pytest.raises(ContractError, match="trial"):
        play.run(max_iterations=2)
    outcome = migrating(play.layout, lambda: play.run(max_iterations=2))
    assert outcome.state.status == "max_iterations"
    assert outcome.state.wins_total == 2
    assert findings(play.layout) == []
    old = play.layout.root.with_name("default.old")
    assert not (old / "state/journal/round_2.jsonl").exists()
