"""`clean` takes away what a run left and nothing of its record; what is the only copy stays."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from selfimprove.app.tidying import clean
from selfimprove.app.validating import all_findings
from selfimprove.places import private_of, quarantine_of
from selfimprove.process import StopToken
from selfimprove.store.record import load_state
from selfimprove.testing.compare import files
from selfimprove.testing.rehearsal import Rehearsal, stopping

Stage = Callable[..., Rehearsal]


def test_trees_clone_and_logs_go_and_the_run_goes_on(stage: Stage) -> None:
    play = stage()
    play.run(max_iterations=1)
    private = private_of(play.layout.root, play.trees)
    (play.layout.root / "state/.run.json.ab12_xyz").write_text("{")
    before = files(play.layout)
    before.pop("state/.run.json.ab12_xyz")
    done = clean(play.layout, private)
    assert done.kept == []
    assert done.freed > 10_000
    assert not private.exists()
    assert list(play.layout.logs.iterdir()) == []
    assert files(play.layout) == before
    assert all_findings(play.layout, play.repository.path) == []
    assert play.run(max_iterations=2).state.wins_total == 2


def test_wins_that_are_held_back_stay(stage: Stage) -> None:
    play = stage()
    play.run(max_iterations=1)
    play.repository.git("checkout", "--quiet", "improve/lower_the_score")
    assert play.run(max_iterations=2).state.held_back
    private = private_of(play.layout.root, play.trees)
    (told,) = clean(play.layout, private).kept
    assert "held back" in told
    assert [entry.name for entry in private.iterdir()] == [quarantine_of(private).name]
    play.repository.git("checkout", "--quiet", "main")
    play.run(max_iterations=2)
    state = load_state(play.layout)
    assert not state.held_back
    assert state.incumbent is not None
    assert play.refs()["refs/heads/improve/lower_the_score"] == state.incumbent.commit


@pytest.mark.long
def test_candidates_of_a_round_under_way_stay(stage: Stage) -> None:
    play = stage()
    stop = StopToken()
    measured = stopping(stop, lambda envelope: envelope.payload.get("event") == "result")
    play.run([measured], stop, max_iterations=1)
    calls = len(play.calls)
    private = private_of(play.layout.root, play.trees)
    (told,) = clean(play.layout, private).kept
    assert "round 1 is not over" in told
    assert (play.layout.logs / "round_1").is_dir()
    play.run(max_iterations=1)
    assert len(play.calls) == calls
    assert load_state(play.layout).wins_total == 1
