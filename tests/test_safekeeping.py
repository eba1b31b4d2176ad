"""The record outlives its folder: kept in the target at a ref of its own, and restored from it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from selfimprove.app.options import RunOptions
from selfimprove.app.restoring import bring_back
from selfimprove.app.validating import all_findings
from selfimprove.errors import ConfigError, TargetError, ToolError
from selfimprove.process import StopToken
from selfimprove.safekeeping import GROWTH, LARGE
from selfimprove.store.rebuild import findings
from selfimprove.store.record import load_state
from selfimprove.testing.compare import files
from selfimprove.testing.rehearsal import Rehearsal, stopping

Stage = Callable[..., Rehearsal]
REF = "refs/selfimprove/default"


def stored(play: Rehearsal, ref: str = REF) -> dict[str, bytes]:
    """The files that a ref holds, and their content."""
    names = play.repository.git("ls-tree", "-r", "--name-only", ref).splitlines()
    return {name: play.repository.git("show", f"{ref}:{name}").encode() for name in names}


def on_disk(play: Rehearsal) -> dict[str, bytes]:
    """Every document of the root."""
    root = play.layout.root
    found = {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()}
    left_out = ("logs/", "lock", "state/attempts.jsonl")
    return {
        name: path.read_bytes().rstrip(b"\n")
        for name, path in found.items()
        if not name.startswith(left_out)
    }


def lost(play: Rehearsal, **more: Any) -> RunOptions:
    """`git clean -ffdx`, and a resume of what is gone."""
    play.repository.git("clean", "-ffdxq")
    assert not play.layout.root.exists()
    return RunOptions(play.repository.path, trees=play.trees, **more)


def test_every_checkpoint_is_a_commit_with_the_documents_at_no_branch(stage: Stage) -> None:
    play = stage()
    play.run(max_iterations=2)
    assert stored(play) == on_disk(play)
    subjects = play.repository.git("log", "--format=%s", REF).splitlines()
    assert subjects == [
        "default: round 2, max_iterations",
        "default: round 1, running",
        "default: round 0, idle",
    ]
    assert "selfimprove" not in play.repository.git("branch", "--all")
    first = stored(play, f"{REF}~1")
    assert "state/journal/round_1.jsonl" in first
    assert "state/journal/round_2.jsonl" not in first
    assert not [name for name in first if name.startswith("plans/")]


def test_a_root_lost_between_rounds_is_restored_and_goes_on(stage: Stage) -> None:
    play = stage()
    play.run(max_iterations=1)
    before = files(play.layout)
    bring_back(lost(play))
    after = files(play.layout)
    settings = "state/agent-settings.json"
    assert json.loads(after.pop(settings))["trust_confirmed"] is False
    assert json.loads(before.pop(settings))["trust_confirmed"] is True
    assert after == before
    assert findings(play.layout) == []
    assert load_state(play.layout).trust == ""  # whoever restores it is asked anew
    calls = len(play.calls)
    outcome = play.run(max_iterations=2)
    assert outcome.state.wins_total == 2
    assert not [call for call in play.calls[calls:] if not call.startswith("round_2/")]
    assert all_findings(play.layout, play.repository.path) == []


def test_a_root_lost_within_a_round_keeps_its_replies(stage: Stage) -> None:
    play = stage()
    stop = StopToken()
    planned = stopping(stop, lambda e: e.payload.get("event") == "executors_named")
    play.run([planned], stop, max_iterations=1)
    calls = play.calls
    bring_back(lost(play))
    play.run(max_iterations=1)
    assert not set(calls) & set(play.calls[len(calls) :])
    assert load_state(play.layout).wins_total == 1


def test_a_clone_takes_the_record_over(stage: Stage, tmp_path: Path) -> None:
    play = stage()
    play.run(max_iterations=1)
    other = tmp_path / "other"
    play.repository.git("clone", "--quiet", ".", str(other))
    fetch = ("fetch", "--quiet", str(play.repository.path))
    for refs in ("refs/selfimprove/*", "refs/heads/improve/*", "refs/tags/archive/*"):
        play.repository.git("-C", str(other), *fetch, f"{refs}:{refs}")
    bring_back(RunOptions(other, trees=play.trees))
    mine = Rehearsal(
        type(play.repository)(other), play.trees, play.spec, play.calls_file, play.settings
    )
    assert mine.run(max_iterations=2).state.wins_total == 2
    assert any("conditions" in said for said in mine.said) or mine.said == []


def test_a_run_does_not_begin_over_a_record_whose_folder_is_gone(stage: Stage) -> None:
    play = stage()
    play.run(max_iterations=1)
    lost(play)
    with pytest.raises(TargetError, match="`selfimprove resume` restores it"):
        play.run(max_iterations=1)


def test_nothing_is_restored_where_nothing_ever_ran(stage: Stage) -> None:
    play = stage()
    with pytest.raises(ConfigError, match="no run to resume"):
        bring_back(RunOptions(play.repository.path, trees=play.trees))
    assert not play.layout.root.exists()


def test_what_others_put_there_is_not_restored(stage: Stage) -> None:
    play = stage()
    play.repository.git("update-ref", REF, "HEAD")
    with pytest.raises(ToolError, match="not made by this tool"):
        bring_back(RunOptions(play.repository.path, trees=play.trees))


def test_a_restoration_that_was_interrupted_begins_again(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    play = stage()
    play.run(max_iterations=1)
    options = lost(play)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", interrupted)
        with pytest.raises(KeyboardInterrupt):
            bring_back(options)
    assert not play.layout.journal.exists()
    bring_back(options)
    assert findings(play.layout) == []


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_files_that_are_there_again_are_not_overwritten(stage: Stage) -> None:
    play = stage()
    play.run(max_iterations=1)
    options = lost(play)
    play.layout.ideas.parent.mkdir(parents=True)
    play.layout.ideas.write_text("- a new one\n")
    bring_back(options)
    assert play.layout.ideas.read_text() == "- a new one\n"


def test_a_ref_that_cannot_be_moved_ends_no_run(stage: Stage) -> None:
    play = stage()
    play.run(max_iterations=1)
    lock = play.repository.path / ".git/refs/selfimprove/default.lock"
    lock.write_text("")
    outcome = play.run(max_iterations=2)
    assert outcome.state.wins_total == 2
    assert [said for said in play.said if "could not be stored" in said]
    lock.unlink()
    play.run(max_iterations=3)
    assert stored(play) == on_disk(play)


def test_a_run_begun_anew_leaves_nothing_of_the_old_one(stage: Stage) -> None:
    play = stage(settings={"topic_slug": "default"})
    play.run(max_iterations=1)
    shutil.rmtree(play.layout.root)
    for ref in play.refs():
        if not ref.startswith("refs/heads/main"):
            play.repository.git("update-ref", "-d", ref)
    shutil.rmtree(play.trees)
    play.run(max_iterations=0)
    assert stored(play) == on_disk(play)


def test_a_large_document_is_not_stored_each_round() -> None:
    assert LARGE * (GROWTH - 1) > 1000  # a round's rows are a few hundred bytes


# validate


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("update-ref", "-d", "refs/heads/improve/lower_the_score"), "it is not there"),
        (("update-ref", "refs/heads/improve/lower_the_score", "HEAD"), "it is at"),
        (("update-ref", "-d", "refs/tags/archive/round_1_executor_2"), "it is not there"),
        (("update-ref", "refs/tags/archive/round_1_executor_9", "HEAD"), "knows nothing of it"),
        (("update-ref", "-d", REF), "not stored in the target"),
        (("update-ref", REF, "HEAD"), "the record of another run"),
    ],
)
def test_validate_names_a_ref_that_the_record_does_not_bear_out(
    module_run: Rehearsal, command: tuple[str, ...], said: str
) -> None:
    play = module_run
    before = play.refs()
    play.repository.git(*command)
    (found,) = all_findings(play.layout, play.repository.path)
    assert said in found
    assert command[-1 if command[1] == "-d" else 1] in found
    for ref in play.refs().keys() | before.keys():
        wanted = ("update-ref", ref, before[ref]) if ref in before else ("update-ref", "-d", ref)
        play.repository.git(*wanted)
    assert all_findings(play.layout, play.repository.path) == []


@pytest.fixture(scope="module")
def module_run(module_stage: Callable[..., Rehearsal]) -> Rehearsal:
    play = module_stage()
    play.run(max_iterations=1)
    return play
